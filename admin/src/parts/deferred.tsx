import { type ComponentType, type FunctionComponent, type ReactNode, useEffect, useState } from 'react';

/**
 * A component in a file of its own, which is read when it is first drawn; until it has come, `placeholder` stands
 * there. React's own `lazy` takes 300 ms at least: so long it holds back the content that follows a fallback.
 *
 * @throws while it is drawn, the error of a file that cannot be read
 */
export function deferred<Props extends object>(
  read: () => Promise<ComponentType<Props>>,
  placeholder: ReactNode = null,
): FunctionComponent<Props> {
  let found: ComponentType<Props> | null = null;
  return function Deferred(props: Props) {
    const [Shown, setShown] = useState(() => found);
    const [failure, setFailure] = useState<{ error: unknown } | null>(null);
    useEffect(() => {
      if (Shown !== null) return;
      read().then(
        (component) => {
          found = component;
          setShown(() => component);
        },
        (error: unknown) => setFailure({ error }),
      );
    }, [Shown]);
    if (failure !== null) throw failure.error;
    return Shown === null ? placeholder : <Shown {...props} />;
  };
}
