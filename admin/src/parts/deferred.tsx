import { type ComponentType, type FunctionComponent, type ReactNode, useEffect, useState } from 'react';

/**
 * A component in a file of its own, which is loaded when the component is first rendered; until then `placeholder` is
 * shown. React's own `lazy` takes 300 ms at least: React holds back for that long the content that follows a fallback.
 *
 * @throws while it is rendered, the error of a file that cannot be loaded
 */
export function deferred<Props extends object>(
  read: () => Promise<ComponentType<Props>>,
  placeholder: ReactNode = null,
): FunctionComponent<Props> {
  let found: ComponentType<Props> | null = null;
  return function Deferred(props: Props) {
    const [Component, setComponent] = useState(() => found);
    const [failure, setFailure] = useState<{ error: unknown } | null>(null);
    useEffect(() => {
      if (Component !== null) return;
      read().then(
        (component) => {
          found = component;
          setComponent(() => component);
        },
        (error: unknown) => setFailure({ error }),
      );
    }, [Component]);
    if (failure !== null) throw failure.error;
    return Component === null ? placeholder : <Component {...props} />;
  };
}
