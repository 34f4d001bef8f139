import Ammo from '@hapi/ammo';
import Boom from '@hapi/boom';
import type { ByteRange } from '../../storage/blobs.ts';

/**
 * The part of a file that a `Range` header asks for; null for all of it, as for several ranges, other units and what is no
 * range at all, which a server may ignore (RFC 9110, section 14.2).
 *
 * @param size of the file, in bytes.
 * @throws a 416 with the size when nothing of the range is part of the file.
 */
export function rangeOf(header: string, size: number): ByteRange | null {
  // Ammo gives null for what it cannot read too.
  if (!/^bytes=\s*(\d+-\d*|-\d+)$/i.test(header)) return null;
  const [range] = Ammo.header(header, size) ?? [];
  if (!range) {
    const refusal = Boom.rangeNotSatisfiable(`the range must be part of the file, which has ${size} bytes`);
    refusal.output.headers['content-range'] = `bytes */${size}`;
    throw refusal;
  }
  // The last 500 bytes of a file that has 100 begin at -400.
  return { start: Math.max(range.from, 0), end: range.to };
}

/** Whether an `If-None-Match` header names this entity tag, or any. */
export function namesTag(header: string, tag: string): boolean {
  return header.split(',').some((one) => ['*', tag, `W/${tag}`].includes(one.trim()));
}
