import { crc32, deflateSync, gzipSync } from 'node:zlib';

/** A whole black PNG, `width` by `height` pixels; `extra` are chunks between its header and its pixels. */
export function png(width = 2, height = 3, extra: Buffer[] = []): Buffer {
  return Buffer.concat([
    pngHeader(width, height),
    ...extra,
    pngChunk('IDAT', deflateSync(Buffer.alloc(height * (Math.ceil(width / 8) + 1)))),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Signature and header of a PNG; width and height may be any that 32 bits hold. */
export function pngHeader(width: number, height: number): Buffer {
  const header = Buffer.concat([uint32(width), uint32(height), Buffer.from([1, 0, 0, 0, 0])]);
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), pngChunk('IHDR', header)]);
}

export function pngChunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name), data]);
  return Buffer.concat([uint32(data.length), body, uint32(crc32(body))]);
}

/** A JPEG's header: JFIF, EXIF with an orientation when one is given, frame header. */
export function jpeg(width = 2, height = 3, orientation?: number, before: Buffer[] = []): Buffer {
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    jpegSegment(0xe0, Buffer.from('JFIF\0\x01\x01\0\0\x01\0\x01\0\0', 'latin1')),
    ...before,
    ...(orientation === undefined ? [] : [jpegSegment(0xe1, exif(orientation))]),
    jpegSegment(0xc0, Buffer.concat([Buffer.from([8]), uint16(height), uint16(width), Buffer.from([1, 1, 0x11, 0])])),
    Buffer.from([0xff, 0xd9]),
  ]);
}

export function jpegSegment(marker: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0xff, marker]), uint16(data.length + 2), data]);
}

function exif(orientation: number): Buffer {
  const tag = Buffer.concat([uint16(0x0112), uint16(3), uint32(1), uint16(orientation), uint16(0)]);
  return Buffer.concat([Buffer.from('Exif\0\0MM\0\x2a', 'latin1'), uint32(8), uint16(1), tag, uint32(0)]);
}

export function gif(width = 2, height = 3): Buffer {
  const header = Buffer.concat([Buffer.from('GIF89a'), uint16le(width), uint16le(height)]);
  return Buffer.concat([header, Buffer.from('800000000000ffffff2c00000000010001000002024401003b', 'hex')]);
}

export function bmp(width = 2, height = 3): Buffer {
  const info = Buffer.concat([uint32le(40), uint32le(width), uint32le(height), uint16le(1), uint16le(24)]);
  return Buffer.concat([Buffer.from('BM'), uint32le(58), uint32le(0), uint32le(54), info, Buffer.alloc(28)]);
}

/** `kind`: `VP8 ` (lossy), `VP8L` (lossless) or `VP8X` (extended). */
export function webp(width = 2, height = 3, kind: 'VP8 ' | 'VP8L' | 'VP8X' = 'VP8X'): Buffer {
  const data = {
    'VP8 ': () => Buffer.concat([Buffer.from('1000009d012a', 'hex'), uint16le(width), uint16le(height)]),
    VP8L: () => Buffer.concat([Buffer.from([0x2f]), uint32le((width - 1) | ((height - 1) << 14))]),
    VP8X: () => Buffer.concat([uint32le(0), uint24le(width - 1), uint24le(height - 1)]),
  }[kind]();
  const body = Buffer.concat([Buffer.from('WEBP'), Buffer.from(kind), uint32le(data.length), data, Buffer.alloc(8)]);
  return Buffer.concat([Buffer.from('RIFF'), uint32le(body.length), body]);
}

/** A box of the ISO base media format. */
export function box(name: string, ...contents: Buffer[]): Buffer {
  const length = contents.reduce((sum, { length }) => sum + length, 8);
  return Buffer.concat([uint32(length), Buffer.from(name, 'latin1'), ...contents]);
}

export function ispe(width: number, height: number): Buffer {
  return box('ispe', uint32(0), uint32(width), uint32(height));
}

/** The header of an AVIF or HEIC file with such properties; item 2, the primary one, has all of them but the first. */
export function heif(brand: string, properties: Buffer[] = [ispe(2, 3)]): Buffer {
  const own = properties.map((_, index) => index + 2);
  const associations = Buffer.from([0, 1, 1, 1, 0, 2, own.length, ...own.map((index) => 0x80 | index)]);
  const tile = ispe(512, 512);
  return Buffer.concat([
    box('ftyp', Buffer.from(brand), uint32(0), Buffer.from(`mif1${brand}`)),
    box(
      'meta',
      uint32(0),
      box('pitm', uint32(0), uint16(2)),
      box('iprp', box('ipco', tile, ...properties), box('ipma', uint32(0), uint32(2), associations)),
    ),
    box('mdat', Buffer.alloc(8)),
  ]);
}

/** A rotation by this number of quarter turns, anticlockwise. */
export function irot(quarters: number): Buffer {
  return box('irot', Buffer.from([quarters]));
}

/** Cut to a part in its middle. */
export function clap(width: number, height: number): Buffer {
  return box('clap', ...[width, 1, height, 1, 0, 1, 0, 1].map(uint32));
}

export function jp2(width = 2, height = 3): Buffer {
  return Buffer.concat([
    box('jP  ', Buffer.from('0d0a870a', 'hex')),
    box('ftyp', Buffer.from('jp2 '), uint32(0), Buffer.from('jp2 ')),
    box('jp2h', box('ihdr', uint32(height), uint32(width), Buffer.alloc(6))),
  ]);
}

/** A bare codestream of 8 × 8 pixels. */
export const jxl = Buffer.from('ff0a0100000000000000', 'hex');

/** The same in boxes. */
export const jxlInBoxes = Buffer.concat([
  box('JXL ', Buffer.from('0d0a870a', 'hex')),
  box('ftyp', Buffer.from('jxl '), uint32(0), Buffer.from('jxl ')),
  box('jxlc', jxl),
]);

export function ico(sizes: [number, number][] = [[2, 3]]): Buffer {
  const entries = sizes.map(([width, height]) => Buffer.from([width % 256, height % 256, ...Array(14).fill(0)]));
  return Buffer.concat([Buffer.from([0, 0, 1, 0]), uint16le(sizes.length), ...entries, Buffer.alloc(8)]);
}

export function tiff(width = 2, height = 3): Buffer {
  const tag = (code: number, value: number) =>
    Buffer.concat([uint16le(code), uint16le(4), uint32le(1), uint32le(value)]);
  return Buffer.concat([
    Buffer.from('II*\0', 'latin1'),
    uint32le(8),
    uint16le(2),
    tag(256, width),
    tag(257, height),
    Buffer.alloc(16),
  ]);
}

export function psd(width = 2, height = 3): Buffer {
  return Buffer.concat([
    Buffer.from('8BPS\0\x01\0\0\0\0\0\0\0\x03', 'latin1'),
    uint32(height),
    uint32(width),
    uint32(0),
  ]);
}

export function icns(): Buffer {
  const entry = Buffer.concat([Buffer.from('icp4'), uint32(16), Buffer.alloc(8)]);
  return Buffer.concat([Buffer.from('icns'), uint32(8 + entry.length), entry]);
}

/** A ZIP of stored entries. */
export function zip(entries: Record<string, string>): Buffer {
  const local: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(entries)) {
    const data = Buffer.from(content);
    const common = Buffer.concat([
      uint16le(20),
      Buffer.alloc(8),
      uint32le(crc32(data)),
      uint32le(data.length),
      uint32le(data.length),
      uint16le(Buffer.byteLength(name)),
      uint16le(0),
    ]);
    const header = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, Buffer.from(name), data]);
    central.push(
      Buffer.concat([
        Buffer.from('PK\x01\x02', 'latin1'),
        uint16le(20),
        common,
        Buffer.alloc(10),
        uint32le(offset),
        Buffer.from(name),
      ]),
    );
    local.push(header);
    offset += header.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.concat([
    Buffer.from('PK\x05\x06', 'latin1'),
    uint32le(0),
    uint16le(central.length),
    uint16le(central.length),
    uint32le(directory.length),
    uint32le(offset),
    uint16le(0),
  ]);
  return Buffer.concat([...local, directory, end]);
}

const wordProcessing = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';

export const docx = zip({
  '[Content_Types].xml': `<Types><Override PartName="/word/document.xml" ContentType="${wordProcessing}.main+xml"/></Types>`,
  'word/document.xml': '<w:document/>',
});

export const gzip = gzipSync(Buffer.alloc(2000, 'ustar'));
export const pdf = Buffer.from(
  '%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n',
  'latin1',
);
export const mp4 = Buffer.concat([box('ftyp', Buffer.from('isom'), uint32(512), Buffer.from('isomiso2')), box('moov')]);
export const mp3 = Buffer.concat([
  Buffer.from('ID3\x03\0\0\0\0\x02\x01', 'latin1'),
  Buffer.alloc(257),
  Buffer.from('fffb9000', 'hex'),
  Buffer.alloc(64),
]);
export const wav = Buffer.from('RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0', 'latin1');
export const opus = Buffer.concat([
  Buffer.from('OggS\0\x02', 'latin1'),
  Buffer.alloc(22),
  Buffer.from('OpusHead\x01\x02'),
]);
export const exe = Buffer.from('MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0', 'latin1');
export const woff2 = Buffer.from('wOF2\0\x01\0\0\0\0\0\x24\0\0\0\0', 'latin1');

function uint16(value: number): Buffer {
  return Buffer.from([(value >> 8) & 255, value & 255]);
}

function uint32(value: number): Buffer {
  return Buffer.from([(value >>> 24) & 255, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]);
}

function uint16le(value: number): Buffer {
  return uint16(value).reverse();
}

function uint24le(value: number): Buffer {
  return uint32le(value).subarray(0, 3);
}

function uint32le(value: number): Buffer {
  return uint32(value).reverse();
}
