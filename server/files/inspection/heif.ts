/** A box of the ISO base media format (ISO 14496-12): its content lies between two places of the file. */
type Box = { name: string; start: number; end: number };

/**
 * Width and height of an AVIF or HEIC image as it is shown: of its primary item (not of a tile or thumbnail), cut to
 * its clean aperture and turned (ISO 23008-12). Null if the bytes do not hold them. image-size takes the largest of all
 * items, turns none, and reads the aperture wrong.
 *
 * @throws RangeError for headers that point outside of the bytes.
 */
export function heifDimensions(bytes: Buffer): { width: number; height: number } | null {
  const meta = boxesIn(bytes, 0, bytes.length).find(({ name }) => name === 'meta');
  const parts = meta ? [...boxesIn(bytes, meta.start + 4, meta.end)] : [];
  const primary = parts.find(({ name }) => name === 'pitm');
  const properties = parts.find(({ name }) => name === 'iprp');
  if (!primary || !properties) return null;
  const lists = [...boxesIn(bytes, properties.start, properties.end)];
  const container = lists.find(({ name }) => name === 'ipco');
  const associations = lists.find(({ name }) => name === 'ipma');
  if (!container || !associations) return null;

  const item =
    bytes[primary.start] === 0 ? bytes.readUInt16BE(primary.start + 4) : bytes.readUInt32BE(primary.start + 4);
  const all = [...boxesIn(bytes, container.start, container.end)];
  let size: { width: number; height: number } | null = null;
  for (const index of propertiesOf(bytes, associations, item)) {
    const property = all[index - 1];
    if (property) size = apply(bytes, property, size);
  }
  return size;
}

/** The size after a property: it is stated first, then changed. */
function apply(bytes: Buffer, { name, start }: Box, size: { width: number; height: number } | null): typeof size {
  if (name === 'ispe') return { width: bytes.readUInt32BE(start + 4), height: bytes.readUInt32BE(start + 8) };
  if (size === null) return null;
  if (name === 'clap') return { width: fraction(bytes, start), height: fraction(bytes, start + 8) };
  const isTurned = name === 'irot' && (bytes.readUInt8(start) & 1) === 1;
  return isTurned ? { width: size.height, height: size.width } : size;
}

function fraction(bytes: Buffer, at: number): number {
  return Math.round(bytes.readUInt32BE(at) / bytes.readUInt32BE(at + 4));
}

/** The properties of an item, counted from 1, in the order in which they hold. */
function propertiesOf(bytes: Buffer, { start, end }: Box, item: number): number[] {
  const isLong = bytes.readUInt8(start) > 0;
  const isWide = (bytes.readUInt8(start + 3) & 1) === 1;
  let at = start + 8;
  while (at < end) {
    const id = isLong ? bytes.readUInt32BE(at) : bytes.readUInt16BE(at);
    at += isLong ? 4 : 2;
    const count = bytes.readUInt8(at);
    at += 1;
    if (id === item) {
      return Array.from({ length: count }, (_, index) =>
        isWide ? bytes.readUInt16BE(at + 2 * index) & 0x7fff : bytes.readUInt8(at + index) & 0x7f,
      );
    }
    at += count * (isWide ? 2 : 1);
  }
  return [];
}

function* boxesIn(bytes: Buffer, start: number, end: number): Generator<Box, void> {
  let at = start;
  while (at + 8 <= end) {
    const size = bytes.readUInt32BE(at);
    // A box of more than 4 GiB, or one that reaches to the end of the file, holds no metadata.
    if (size < 8 || at + size > end) return;
    yield { name: bytes.toString('latin1', at + 4, at + 8), start: at + 8, end: at + size };
    at += size;
  }
}
