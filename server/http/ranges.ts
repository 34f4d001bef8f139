import Ammo from '@hapi/ammo';
import { counted } from '../../config/counted.ts';
import { DomainError } from '../../config/errors.ts';
import type { ByteRange } from '../../storage/blobs.ts';

/** Thrown if nothing of a range is in the file; `size` is the size of the file, in bytes. */
export class OutOfRangeError extends DomainError {
  override name = 'OutOfRangeError';
  readonly size: number;

  constructor(size: number) {
    super('range_not_satisfiable', `the range must be part of the file, which has ${counted(size, 'byte')}`);
    this.size = size;
  }
}

/**
 * The part of a file that a `Range` header asks for. Null for the whole file: also for several ranges, other units and
 * a malformed range, which a server may ignore (RFC 9110, section 14.2).
 *
 * @param size of the file, in bytes.
 * @throws OutOfRangeError.
 */
export function rangeOf(header: string, size: number): ByteRange | null {
  // Ammo gives null for malformed headers too.
  if (!/^bytes=\s*(\d+-\d*|-\d+)$/i.test(header)) return null;
  const [range] = Ammo.header(header, size) ?? [];
  if (!range) throw new OutOfRangeError(size);
  // The last 500 bytes of a file that has 100 begin at -400.
  return { start: Math.max(range.from, 0), end: range.to };
}

/** Whether an `If-None-Match` header names this entity tag, or any. */
export function namesTag(header: string, tag: string): boolean {
  return header.split(',').some((one) => ['*', tag, `W/${tag}`].includes(one.trim()));
}
