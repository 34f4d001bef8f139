import { type AnchorHTMLAttributes, createContext, type Ref, use } from 'react';
import { Link as PlainLink, useLocation } from 'wouter';
import { asOfParameter, useAsOf } from '../service/as-of.ts';
import { siteId } from '../service/place.ts';

/** An address of the application, below `/admin`, with the site of the page and the moment that is shown. */
export function addressOf(to: string, asOf: string | null = null): string {
  const [page = '', search = ''] = to.split('?', 2);
  // Home is the address of the application itself, which ends without a slash.
  const path = page === '/' ? '' : page;
  const parameters = new URLSearchParams(search);
  if (siteId !== undefined) parameters.set('site', siteId);
  if (asOf !== null && !parameters.has(asOfParameter)) parameters.set(asOfParameter, asOf);
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

type Props = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> & { to: string; ref?: Ref<HTMLAnchorElement> };

/** A link to a page of the application, which keeps the moment that is shown. */
export function Link({ to, ...rest }: Props) {
  return <PlainLink href={addressOf(to, useAsOf())} {...rest} />;
}

/** Goes to a page of the application, as `Link` does. */
export function useGo(): (to: string, options?: { replace?: boolean }) => void {
  const [, go] = useLocation();
  const asOf = useAsOf();
  return (to, options) => go(addressOf(to, asOf), options);
}

/** Opens the search palette. */
export const PaletteContext = createContext<() => void>(() => undefined);

/** The function that opens the search palette. */
export function usePalette(): () => void {
  return use(PaletteContext);
}
