import { decodeExtended, parse } from 'content-disposition';
import { type DomainError, invalidBody } from '../../../config/errors.ts';
import { joinChunks, utf8Text } from '../../platform/chunks.ts';

/**
 * The head of a part: its name, and its filename, which may be ''; null if it has no filename. `type` is in lower case.
 */
type PartHead = { name: string; filename: string | null; type: string };

/** A part as it arrives: `content` is the rest of it, and is to be read before the next part is asked for. */
export type FormPart = PartHead & { content: AsyncGenerator<Buffer, void> };

/** Gives the next bytes of a body, null after the last ones. */
export type ByteSource = () => Promise<Buffer | null>;

/** Bytes of all headers of a part: more than a name of 255 characters takes in any encoding. */
const maxHeadBytes = 16 * 1024;
/** RFC 2046, section 5.1.1: behind a delimiter only blanks are allowed. */
const maxPadding = 256;
const carriageReturn = 13;

/**
 * Reads a body of `multipart/form-data` (RFC 7578) part by part, to its end, and takes no more from its source than is
 * asked for. The rest of an unread part is skipped. Nothing is ignored: a part without a name is a refusal, and so is
 * text that is not UTF-8.
 *
 * @throws DomainError `validation_failed` for a malformed or truncated body, and errors of the source.
 */
export async function* readParts(source: ByteSource, boundary: string): AsyncGenerator<FormPart, void> {
  const reader = createReader(source);
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  await skip(reader.upTo(delimiter));
  while (!(await reader.isAt('--'))) {
    await blanks(reader.upTo(Buffer.from('\r\n')));
    const content = reader.upTo(delimiter);
    yield { ...readHead(await headBytes(reader)), content };
    await skip(content);
  }
  // The epilogue after the last delimiter is ignored, but read: the connection is free only after it.
  while ((await source()) !== null);
}

type Reader = ReturnType<typeof createReader>;

function createReader(source: ByteSource) {
  /**
   * Bytes received and not passed on yet. It begins with a line break, for the first delimiter may lack the one before
   * it.
   */
  let rest: Buffer = Buffer.from('\r\n');

  async function fill(): Promise<void> {
    const chunk = await source();
    if (chunk === null) throw malformed('it ends before its closing boundary');
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
  }

  function take(bytes: number): Buffer {
    const taken = rest.subarray(0, bytes);
    rest = rest.subarray(bytes);
    return taken;
  }

  /** Gives the bytes before `mark`, and takes the mark too. */
  async function* upTo(mark: Buffer): AsyncGenerator<Buffer, void> {
    for (;;) {
      const at = rest.indexOf(mark);
      const end = at === -1 ? beginOf(mark, rest) : at;
      if (end > 0) yield take(end);
      if (at !== -1) {
        take(mark.length);
        return;
      }
      await fill();
    }
  }

  /** Whether this text comes next; then it is taken. */
  async function isAt(text: string): Promise<boolean> {
    while (rest.length < text.length) await fill();
    const found = rest.toString('latin1', 0, text.length) === text;
    if (found) take(text.length);
    return found;
  }

  return { upTo, isAt };
}

/**
 * The index in `bytes` from which on they may be the beginning of `mark`, which begins with a line break; their length
 * if there is no such index.
 */
function beginOf(mark: Buffer, bytes: Buffer): number {
  const from = Math.max(0, bytes.length - mark.length + 1);
  for (let at = bytes.indexOf(carriageReturn, from); at !== -1; at = bytes.indexOf(carriageReturn, at + 1)) {
    if (bytes.compare(mark, 0, bytes.length - at, at) === 0) return at;
  }
  return bytes.length;
}

async function skip(content: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of content);
}

async function blanks(content: AsyncIterable<Buffer>): Promise<void> {
  let length = 0;
  for await (const chunk of content) {
    length += chunk.length;
    if (length > maxPadding || !/^[ \t]*$/.test(chunk.toString('latin1'))) {
      throw malformed('something stands behind a boundary in its line');
    }
  }
}

/** The headers of a part without the empty line that ends them. */
async function headBytes(reader: Reader): Promise<Buffer> {
  // A part without headers begins with the empty line.
  if (await reader.isAt('\r\n')) return Buffer.alloc(0);
  const joined = joinChunks();
  for await (const chunk of reader.upTo(Buffer.from('\r\n\r\n'))) {
    joined.add(chunk);
    if (joined.size() > maxHeadBytes) throw malformed(`the headers of a part are longer than ${maxHeadBytes} bytes`);
  }
  return joined.bytes();
}

function readHead(bytes: Buffer): PartHead {
  const text = utf8Text(bytes);
  if (text === null) throw malformed('the headers of a part are not valid UTF-8');
  const headers = readHeaders(text);
  const { name, filename = null } = readDisposition(headers.get('content-disposition') ?? '');
  if (name === undefined) {
    throw malformed('a part has no header like: content-disposition: form-data; name="title"');
  }
  const type = (headers.get('content-type') ?? '').split(';', 1).join('').trim().toLowerCase();
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase() ?? 'binary';
  if (type.startsWith('multipart/')) throw malformed('a part is multipart itself');
  if (!['7bit', '8bit', 'binary'].includes(encoding)) {
    throw malformed('a part has a content-transfer-encoding; send its bytes as they are');
  }
  return { name, filename, type };
}

/**
 * `form-data` and its parameters. A parameter without a value would be matched in more ways than one, and take for
 * ever.
 */
const wholeDisposition = /^form-data(?:[ \t]*;[ \t]*[^\s=";]+[ \t]*=[ \t]*(?:"[^"]*"|[^\s";]+))*[ \t]*$/i;
const parameterName = /;[ \t]*([^\s=";]+)[ \t]*=[ \t]*(?:"[^"]*")?/g;

/**
 * Refuses headers that `parse` would ignore: malformed or repeated parameters, and bytes outside of the stated charset.
 */
function readDisposition(value: string): { name?: string; filename?: string } {
  // Browsers write `%22` for a quote, and so it is read; others write `\"`. A name may also end with a backslash.
  const unescaped = value.replace(/\\(["\\])/g, (_, char) => (char === '"' ? '%22' : char));
  const disposition = wholeDisposition.test(unescaped) ? unescaped : value;
  const names = [...disposition.matchAll(parameterName)].map(([, name = '']) => name.toLowerCase());
  const { parameters } = parse(disposition, { multipart: true });
  const { 'filename*': extended } = parameters;
  const isDecoded = extended === undefined || decodeExtended(extended) !== undefined;
  const isWrong = !wholeDisposition.test(disposition) || new Set(names).size < names.length || !isDecoded;
  if (value !== '' && isWrong) throw malformed('the content-disposition of a part is malformed');
  return parameters;
}

function readHeaders(text: string): Map<string, string> {
  const headers = new Map<string, string>();
  // A line that begins with a blank continues the one before (RFC 5322, section 2.2.3).
  for (const line of text.replace(/\r\n(?=[ \t])/g, '').split('\r\n')) {
    if (line === '') continue;
    const [, name, value = ''] = /^([!#$%&'*+.^_`|~\w-]+):([^\r\n]*)$/.exec(line) ?? [];
    if (name === undefined) throw malformed('the headers of a part are malformed');
    const key = name.toLowerCase();
    if (headers.has(key)) throw malformed('a part has a header twice');
    headers.set(key, value.trim());
  }
  return headers;
}

function malformed(problem: string): DomainError {
  return invalidBody('format', `the body is not valid multipart/form-data: ${problem}`);
}
