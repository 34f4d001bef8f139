import { counted } from '../../../config/counted.ts';
import { DomainError, inBody, invalidField } from '../../../config/errors.ts';
import type { FieldErrorCode } from '../../../config/field-error-codes.ts';
import type { UploadOptions } from '../../../config/model.ts';
import { showAll } from '../../../config/suggest.ts';
import { joinChunks } from '../../platform/chunks.ts';
import { dimensionsOf } from './dimensions.ts';
import { hasMark, headText, markupOf } from './markup.ts';
import { canonicalType, isAllowed } from './mime-types.ts';
import { createTextCheck } from './text-check.ts';

/**
 * Facts from the bytes of a file. `width` and `height` are pixels as a browser shows the image, null for other files.
 */
export type Inspection = { mimeType: string; width: number | null; height: number | null };

/** Looks at a file on its way in. */
type Inspector = {
  /**
   * Gets every chunk. @throws DomainError `file_too_large` as soon as the file is, `validation_failed` on `file` for a
   * type not allowed.
   */
  look: (chunk: Buffer) => void | Promise<void>;
  /**
   * After the last chunk, with the whole file on disk. @throws DomainError as `look` does, and `validation_failed` for
   * an empty file.
   */
  finish: (path: string) => Promise<Inspection>;
};

const headBytes = 64 * 1024;

/**
 * Signatures that a text may have, by how it then begins. All others are not looked for in a text: not every text that
 * begins with `BM`, `GIF` or `solid` is an image or a model.
 */
const textual: Readonly<Record<string, RegExp>> = {
  'application/eps': /^%!PS-Adobe-/,
  'application/pdf': /^%PDF-\d/,
  'application/pgp-encrypted': /^-----BEGIN PGP MESSAGE-----/,
  'application/postscript': /^%!PS/,
  'application/rtf': /^\{\\rtf/,
  'application/x-ms-regedit': /^REGEDIT4\r\n/,
  'model/stl': /^solid [^\n]*\n\s*facet\s/,
  'text/calendar': /^BEGIN:VCALENDAR\r?\n/,
  'text/vcard': /^BEGIN:VCARD\r?\n/,
  'text/vtt': /^WEBVTT/,
};

/**
 * Finds the type of a file from its bytes, whatever the client says: a signature in the first 64 KiB, else HTML, SVG
 * and XML by how they begin, else `text/plain` for a file that is UTF-8 to its end, else `application/octet-stream`. A
 * browser's reading of a file that is two things at once is decided by the type it is served with.
 */
export function inspectFile({ maxFileSize, mimeTypes }: UploadOptions): Inspector {
  const text = createTextCheck();
  let head: ReturnType<typeof joinChunks> | null = joinChunks();
  let size = 0;
  /** Null until the head is read, and then for bytes without a known signature. */
  let signature: string | null = null;

  async function readHead(bytes: Buffer): Promise<void> {
    head = null;
    signature = await signatureOf(bytes.subarray(0, headBytes), text.isText());
    if (signature !== null) check(signature);
  }

  function check(mimeType: string): void {
    if (isAllowed(mimeType, mimeTypes)) return;
    refuse('file_type', `must be of type ${showAll(mimeTypes ?? [])}; by its bytes it is ${JSON.stringify(mimeType)}`);
  }

  return {
    async look(chunk) {
      size += chunk.length;
      if (size > maxFileSize) throw fileTooLarge(maxFileSize);
      if (head === null && signature !== null) return;
      text.read(chunk);
      if (head !== null) {
        head.add(chunk.subarray(0, headBytes));
        if (size >= headBytes) await readHead(head.bytes());
      }
      if (head !== null || signature !== null) return;
      if (!text.isText()) check('application/octet-stream');
      else if (!isAllowed('application/octet-stream', mimeTypes)) check('text/plain');
    },
    async finish(path) {
      if (size === 0) refuse('file_invalid', 'must not be empty');
      if (head !== null) await readHead(head.bytes());
      const mimeType = signature ?? (text.isWhole() ? 'text/plain' : 'application/octet-stream');
      check(mimeType);
      return { mimeType, ...(await dimensionsOf(path, mimeType)) };
    },
  };
}

/** The refusal of a file that is larger than its collection takes. */
export function fileTooLarge(maxFileSize: number): DomainError {
  const message = `file must be at most ${counted(maxFileSize, 'byte')}`;
  return new DomainError('file_too_large', message, [
    { ...inBody('file', 'file_too_large', { limit: maxFileSize }), message },
  ]);
}

function refuse(code: FieldErrorCode, message: string): never {
  throw invalidField(inBody('file', code), message);
}

/** The type that the first bytes show; null when they show none. */
async function signatureOf(head: Buffer, isText: boolean): Promise<string | null> {
  const text = headText(head);
  // Before any other signature, as browsers look for it: no other format begins like this.
  const markup = markupOf(text);
  if (markup !== null) return markup;
  // Else its contents would be unpacked, to see whether they are a tar.
  if (head[0] === 0x1f && head[1] === 0x8b) return 'application/gzip';
  // file-type looks behind a mark of UTF-8 for any signature, but only a text has such a mark.
  if (!isText && hasMark(head)) return null;
  const mimeType = await knownSignature(head);
  if (mimeType === null || !isText) return mimeType;
  return Object.hasOwn(textual, mimeType) && textual[mimeType]?.test(text) ? mimeType : null;
}

async function knownSignature(head: Buffer): Promise<string | null> {
  // Loaded by the first file: a start is sooner without it.
  const { fileTypeFromBuffer } = await import('file-type');
  try {
    const found = await fileTypeFromBuffer(head);
    return found ? canonicalType(found.mime) : null;
  } catch {
    // It throws whatever comes up for archives that are cut short or wrong; those have no signature that it knows.
    return null;
  }
}
