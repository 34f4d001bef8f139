import { open } from 'node:fs/promises';
import type { imageSize } from 'image-size';
import { heifDimensions } from './heif.ts';
import { headText } from './markup.ts';
import { svgDimensions } from './svg.ts';

/** Pixels, as a browser shows the image; both null when they are not known. */
type Dimensions = { width: number | null; height: number | null };

const unknown: Dimensions = { width: null, height: null };

/** No format can say more than this. */
const most = 2 ** 31 - 1;

/** The formats of a type, as image-size calls them, and how many bytes may precede the size. */
const formats: Readonly<Record<string, { names: readonly string[]; bytes: number }>> = {
  'image/bmp': { names: ['bmp'], bytes: 64 },
  'image/gif': { names: ['gif'], bytes: 64 },
  'image/jp2': { names: ['jp2'], bytes: 64 * 1024 },
  'image/jpeg': { names: ['jpg'], bytes: 1024 * 1024 },
  'image/jxl': { names: ['jxl', 'jxl-stream'], bytes: 64 * 1024 },
  'image/png': { names: ['png'], bytes: 64 },
  'image/tiff': { names: ['tiff', 'bigtiff'], bytes: 1024 * 1024 },
  'image/vnd.adobe.photoshop': { names: ['psd'], bytes: 64 },
  'image/vnd.microsoft.icon': { names: ['ico', 'cur'], bytes: 4 * 1024 },
  'image/webp': { names: ['webp'], bytes: 64 },
};

/** AVIF and HEIC, which have the properties of their items before them. */
const isHeif = /^image\/(avif|hei[cf](-sequence)?)$/;
const heifBytes = 1024 * 1024;

const svgBytes = 64 * 1024;

/** Width and height of an image on disk, read from its first bytes. Never throws for its content. */
export async function dimensionsOf(path: string, mimeType: string): Promise<Dimensions> {
  if (mimeType === 'image/svg+xml') return checked(svgDimensions(headText(await firstBytes(path, svgBytes))));
  const format = Object.hasOwn(formats, mimeType) ? formats[mimeType] : undefined;
  if (!format && !isHeif.test(mimeType)) return unknown;
  const bytes = await firstBytes(path, format?.bytes ?? heifBytes);
  // Loaded for the first image: it has a module for each format.
  const { imageSize: sizeOf } = await import('image-size');
  try {
    return format ? formatDimensions(sizeOf(bytes), format.names) : checked(heifDimensions(bytes));
  } catch {
    // Whatever comes up for headers that are cut short or wrong.
    return unknown;
  }
}

function formatDimensions(found: ReturnType<typeof imageSize>, names: readonly string[]): Dimensions {
  const { width, height, type = '', orientation = 1 } = found;
  if (!names.includes(type)) return unknown;
  // Orientations 5 to 8 of EXIF lie on their side.
  return checked(orientation >= 5 && orientation <= 8 ? { width: height, height: width } : { width, height });
}

/** Not in shared memory: image-size reads past the end of an array into the rest of its memory. */
async function firstBytes(path: string, most: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const bytes = Buffer.from(new ArrayBuffer(Math.min(size, most)));
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return bytes.subarray(0, length);
  } finally {
    await file.close();
  }
}

function checked(size: { width: number; height: number } | null): Dimensions {
  const isPossible = (pixels: number) => Number.isInteger(pixels) && pixels > 0 && pixels <= most;
  return size && isPossible(size.width) && isPossible(size.height) ? size : unknown;
}
