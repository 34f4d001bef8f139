import assert from 'node:assert/strict';
import { crc32, inflateRawSync } from 'node:zlib';

/**
 * The files of a ZIP archive, by name, in the order of its directory. This reader follows PKWARE APPNOTE, section 4.3,
 * and shares no code with the product.
 */
export function unzip(archive: Buffer): Map<string, Buffer> {
  const end = archive.lastIndexOf(Buffer.from('PK\x05\x06'));
  assert.equal(end, archive.length - 22, 'the archive does not end with its directory, or has a comment');
  const files = new Map<string, Buffer>();
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    assert.equal(archive.readUInt32LE(at), 0x02014b50);
    const [method, crc] = [archive.readUInt16LE(at + 10), archive.readUInt32LE(at + 16)];
    const [packed, size] = [archive.readUInt32LE(at + 20), archive.readUInt32LE(at + 24)];
    const [nameLength, extra, comment] = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset)) as number[];
    const local = archive.readUInt32LE(at + 42);
    const name = archive.toString('utf8', at + 46, at + 46 + (nameLength as number));
    assert.ok(!files.has(name), `${name} is in the archive twice`);
    const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const bytes = archive.subarray(start, start + packed);
    const content = method === 8 ? inflateRawSync(bytes) : bytes;
    assert.equal(content.length, size, name);
    assert.equal(crc32(content), crc, name);
    files.set(name, content);
    at += 46 + (nameLength as number) + (extra as number) + (comment as number);
  }
  assert.equal(at, end);
  return files;
}
