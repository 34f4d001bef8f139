import { type AnchorHTMLAttributes, createContext, type Ref, use } from 'react';
import { Link as PlainLink, useLocation } from 'wouter';
import { asOfParameter, useAsOf } from '../service/as-of.ts';

/** An address of the application, below `/admin`, with the moment that is shown. */
export function withAsOf(to: string, asOf: string | null): string {
  if (asOf === null) return to;
  const [path = '', search = ''] = to.split('?', 2);
  const parameters = new URLSearchParams(search);
  if (!parameters.has(asOfParameter)) parameters.set(asOfParameter, asOf);
  return `${path}?${parameters}`;
}

type Props = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> & { to: string; ref?: Ref<HTMLAnchorElement> };

/** A link to a page of the application. It stays at the moment that is shown. */
export function Link({ to, ...rest }: Props) {
  return <PlainLink href={withAsOf(to, useAsOf())} {...rest} />;
}

/** Goes to a page of the application, as `Link` does. */
export function useGo(): (to: string, options?: { replace?: boolean }) => void {
  const [, go] = useLocation();
  const asOf = useAsOf();
  return (to, options) => go(withAsOf(to, asOf), options);
}

/** Opens the search palette. */
export const PaletteContext = createContext<() => void>(() => undefined);

/** The function that opens the search palette. */
export function usePalette(): () => void {
  return use(PaletteContext);
}
