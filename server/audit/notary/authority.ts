import type { X509Certificate } from 'node:crypto';

/** A time-stamp authority: its address, which may hold a secret, and whose certificates it has to lead up to; none: any. */
export type Authority = { url: string; trusted: readonly X509Certificate[] };

/** What an authority is called in what is kept and told. */
export function authorityName({ url }: Authority): string {
  return new URL(url).host;
}
