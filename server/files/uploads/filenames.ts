import filenamify from 'filenamify';

const maxBytes = 255;
/** No known extension is longer. */
const maxExtensionBytes = 32;
/** Characters at either end of a long name that are looked at: some steps take time that grows with the square. */
const maxLooked = 1024;

/** Blanks of every width, and ends of lines. */
const blanks = /\r\n|[\t\n\v\f\r\u0085\p{Z}]/gu;

/** Invisible characters, which turn `gnp.exe` round or make two names look like one; controls and lone surrogates. */
const unseen = '[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Default_Ignorable_Code_Point}\\uFFF0-\\uFFFF]';

/** Of that: what holds emoji together as one (👨‍👩‍👧), or makes one of a sign (❤️, 1️⃣). */
const inEmoji = [
  '(?<=\\p{ExtPict}[\\uFE0F\\p{EMod}]?)\\u200D(?=\\p{ExtPict})',
  '(?<=\\p{ExtPict})\\uFE0F',
  '(?<=[#\\d])\\uFE0F(?=\\u20E3)',
].join('|');
const unseenOrInEmoji = new RegExp(`(${inEmoji})|${unseen}`, 'gu');

/**
 * A name that every file system, header and URL takes: the last part of a path, in NFC, without what cannot be seen and
 * what Windows refuses, at most 255 bytes of UTF-8, with the extension it had. A name of nothing else is `file`. Given
 * its own answer it answers the same.
 */
export function cleanFilename(given: string): string {
  const last = given.slice(Math.max(given.lastIndexOf('/'), given.lastIndexOf('\\')) + 1);
  const looked = last.length > 2 * maxLooked ? last.slice(0, maxLooked) + last.slice(-maxLooked) : last;
  // Unseen characters go before NFC, which may compose what stood on both sides of one.
  const seen = looked
    .replace(blanks, ' ')
    .replace(unseenOrInEmoji, (_, kept: string | undefined) => kept ?? '')
    .replace(/^[. ]+|[. ]+$/g, '');
  // A name that was cut may be a device's only then.
  return seen === '' ? 'file' : onDisk(cut(onDisk(seen)));
}

/** In NFC and without what Windows refuses: its characters, blanks and dots at the end, names of devices. */
function onDisk(name: string): string {
  return filenamify(name, { replacement: '_', maxLength: Number.POSITIVE_INFINITY });
}

/** At most 255 bytes; a real extension is kept. */
function cut(name: string): string {
  if (Buffer.byteLength(name) <= maxBytes) return name;
  const dot = name.lastIndexOf('.');
  const extension =
    dot > 0 && Buffer.byteLength(name) - Buffer.byteLength(name.slice(0, dot)) <= maxExtensionBytes
      ? name.slice(dot)
      : '';
  const base = name.slice(0, name.length - extension.length);
  return firstBytes(base, maxBytes - Buffer.byteLength(extension)).replace(/[. ]+$/, '') + extension;
}

/** As many whole graphemes as fit in `bytes` bytes. */
function firstBytes(text: string, bytes: number): string {
  // Made here: at the start it would take 14 ms, and few names are long.
  const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
  const segments = Iterator.from(segmenter.segment(text)).map(({ segment }) => segment);
  const parts = Array.from(takeWhileFits(segments, bytes));
  // One letter may have hundreds of accents: such a one is cut.
  return parts.length > 0
    ? parts.join('')
    : Array.from(takeWhileFits(text, bytes))
        .join('')
        .replace(/\u200D$/, '');
}

function* takeWhileFits(parts: Iterable<string>, bytes: number): Iterable<string> {
  let left = bytes;
  for (const part of parts) {
    left -= Buffer.byteLength(part);
    if (left < 0) return;
    yield part;
  }
}
