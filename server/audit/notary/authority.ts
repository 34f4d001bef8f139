import type { X509Certificate } from 'node:crypto';

/** A time-stamp authority: its address, which may hold a secret, and whose certificates it has to lead up to; none: any. */
export type Authority = { url: string; trusted: readonly X509Certificate[] };

/** The name of an authority in the log and in messages. */
export function authorityName({ url }: Authority): string {
  return new URL(url).host;
}
