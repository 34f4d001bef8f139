import type { Request } from '@hapi/hapi';
import { DomainError, inBody, inHeader, invalidBody, invalidField, invalidFields } from '../../../config/errors.ts';
import { show } from '../../../config/suggest.ts';
import { refuseEncoded } from '../../http/body.ts';
import { type Pace, pacedBody } from '../../http/pace.ts';
import { joinChunks, utf8Text } from '../../platform/chunks.ts';
import { type ByteSource, type FormPart, readParts } from './multipart.ts';

/** The values of a form: each name with the texts that came under it, in their order. */
export type FormTexts = ReadonlyMap<string, readonly string[]>;

/** The file of a form as it arrives. `filename` is what the client says. */
export type FilePart = { filename: string; content: AsyncIterable<Buffer> };

/** The contents of a form. `file` is the result of `take`; null for a form without a file. */
type Form<T> = { texts: FormTexts; file: T | null };

/** The name of the part that a file is sent as (contract, section 4.2). */
export const filePart = 'file';

export const formType = 'multipart/form-data';

const maxParts = 1000;
const maxNameLength = 200;
/**
 * For boundaries and the headers of parts, and for a chunk that is counted before it is known to be part of the file.
 */
const otherBytes = 1024 * 1024;
const maxBoundaryLength = 70;

/** How many bytes a form may be long: its file, its texts, and the bytes around them. */
export function longestForm(maxFileSize: number, maxTextBytes: number): number {
  return maxFileSize + maxTextBytes + otherBytes;
}

/**
 * The boundary of a form by its content-type; null for other types.
 *
 * @throws DomainError `validation_failed` if it is missing or malformed.
 */
export function boundaryOf(contentType: string): string | null {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim());
  if (type.toLowerCase() !== formType) return null;
  const given = parameters.find((parameter) => /^boundary=/i.test(parameter))?.slice('boundary='.length) ?? '';
  const boundary = /^"(.*)"$/.exec(given)?.[1] ?? given;
  // RFC 2046, section 5.1.1.
  if (boundary.length <= maxBoundaryLength && /^[\w'()+,./:=? -]*[\w'()+,./:=?-]$/.test(boundary)) return boundary;
  const problem = boundary === '' ? 'lacks the boundary' : `has a boundary that cannot be, ${show(boundary)}`;
  const message = `the content-type ${formType} ${problem}`;
  throw invalidFields([{ ...inHeader('content-type', 'format'), message }]);
}

/** The refusal of a body of a type that the route does not take, in hapi's words. */
export function wrongType(): DomainError {
  return new DomainError('unsupported_media_type', 'Unsupported Media Type');
}

/**
 * Reads a form to its end: texts, and at most one file, which `take` reads while it arrives. The order of the parts
 * does not matter. An empty file input, as browsers send it, counts as absent.
 *
 * @param bounds `maxTextBytes`: of all texts together.
 * @throws DomainError `validation_failed` or `too_large`; `unsupported_media_type` for a compressed body,
 * `request_timeout` for one that arrives too slowly.
 */
export async function readForm<T>(
  request: Request,
  take: (part: FilePart) => Promise<T>,
  { maxTextBytes, pace }: { maxTextBytes: number; pace?: Pace },
): Promise<Form<T>> {
  refuseEncoded(request);
  const boundary = boundaryOf(String(request.headers['content-type']));
  if (boundary === null) throw wrongType();
  const bounds = boundsOf(maxTextBytes);
  const texts = new Map<string, string[]>();
  let file: T | null = null;
  let count = 0;
  let files = 0;
  for await (const part of readParts(bounds.around(pacedBody(request, pace)), boundary)) {
    count += 1;
    if (count > maxParts)
      throw invalidBody('max_items', `the body must have at most ${maxParts} parts`, { limit: maxParts });
    checkName(part);
    if (isText(part)) {
      if (part.name === filePart)
        throw invalidField(inBody(filePart, 'type'), 'must be sent as a file, with a filename, not as a text');
      const known = texts.get(part.name) ?? [];
      texts.set(part.name, known);
      known.push(await readText(part, bounds.text));
    } else {
      if (part.name !== filePart)
        throw invalidField(inBody(part.name, 'misplaced'), 'is not a file field; the file is sent as "file"');
      files += 1;
      if (files > 1) throw invalidField(inBody(filePart, 'duplicate'), 'must be sent once: a document has one file');
      const content = await contentOf(part, bounds.file);
      if (content) file = await take({ filename: part.filename ?? '', content });
    }
  }
  return { texts, file };
}

/** From a browser JSON is a `Blob` of that type, and so has a filename, as do all parts that are not bare texts. */
function isText({ name, filename, type }: FormPart): boolean {
  if (name !== filePart && type === 'application/json') return true;
  return filename === null && type !== 'application/octet-stream';
}

type Bounds = {
  around: (source: ByteSource) => ByteSource;
  /** Counts the bytes of a text. */
  text: (bytes: number) => void;
  /** Counts the bytes of a file, whose size is checked elsewhere. */
  file: (bytes: number) => void;
};

function boundsOf(maxTextBytes: number): Bounds {
  let outside = 0;
  let inTexts = 0;
  return {
    around: (source) => async () => {
      const chunk = await source();
      outside += chunk?.length ?? 0;
      if (outside > maxTextBytes + otherBytes)
        throw new DomainError('body_too_large', 'the body is too long beside its file');
      return chunk;
    },
    text(bytes) {
      inTexts += bytes;
      if (inTexts <= maxTextBytes) return;
      throw new DomainError('body_too_large', `the fields of the form must be at most ${maxTextBytes} bytes together`);
    },
    file(bytes) {
      outside -= bytes;
    },
  };
}

function checkName({ name }: FormPart): void {
  if (name.length > maxNameLength) {
    const message = `the name of a field must be at most ${maxNameLength} characters, got ${show(name)}`;
    const fault = inBody(`${name.slice(0, maxNameLength)}…`, 'max_length', { limit: maxNameLength });
    throw invalidFields([{ ...fault, message }]);
  }
  // JSON bodies must not hold it either.
  if (name === '__proto__') throw invalidField(inBody(name, 'unknown_field'), 'is not a field');
}

async function readText({ name, content }: FormPart, count: (bytes: number) => void): Promise<string> {
  const joined = joinChunks();
  for await (const chunk of content) {
    count(chunk.length);
    joined.add(chunk);
  }
  const text = utf8Text(joined.bytes());
  if (text === null) throw invalidField(inBody(name, 'unsafe_characters'), 'is not valid UTF-8');
  return text;
}

/** The bytes of a file; null for an input that was left empty. */
async function contentOf(
  { filename, content }: FormPart,
  count: (bytes: number) => void,
): Promise<AsyncIterable<Buffer> | null> {
  const first = await content.next();
  if (first.done && filename === '') return null;
  return (async function* counted() {
    for (let { done, value } = first; !done && value; { done, value } = await content.next()) {
      count(value.length);
      yield value;
    }
  })();
}
