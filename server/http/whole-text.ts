import type { ServerResponse } from 'node:http';
import { Readable, type Writable } from 'node:stream';
import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { keepUntilRest } from '../../storage/kept.ts';

/**
 * A response with this text; the caller sets its type. hapi would make a stream of the text, write it, end the answer,
 * and take down the stream: as much work as the query for a document. This response is written and ended in one step.
 */
export function wholeText({ request }: ResponseToolkit, text: string): ResponseObject {
  return request.generateResponse(text, { marshal: take });
}

/**
 * As {@link wholeText}, of several texts, one after the other: to join a long answer would copy it once more.
 */
export function wholeTexts({ request }: ResponseToolkit, texts: readonly string[]): ResponseObject {
  return request.generateResponse(new Texts(texts), { marshal: take });
}

/** The source of a response of several texts. */
export class Texts {
  readonly #all: readonly string[];
  /** The length of the texts in units of UTF-16; in bytes it is between this and three times this. */
  readonly units: number;

  constructor(all: readonly string[]) {
    this.#all = all;
    this.units = all.reduce((sum, { length }) => sum + length, 0);
  }

  joined(): string {
    return this.#all.join('');
  }

  /** Encodes the texts as UTF-8. */
  written(): WrittenTexts {
    return new WrittenTexts(this.#all, this.units);
  }
}

const bufferBytes = 1024 * 1024;
const widest = 3;
const mostBuffers = 4;

/**
 * Memory of this thread for answers that are sent at once: new memory for each answer would be new pages of the system.
 */
const buffers: Buffer[] = [];
keepUntilRest(() => buffers.splice(0));

/**
 * Frees the text once the response is sent: the response may be in memory for long, if its connection pipelines many.
 */
async function take(response: ResponseObject): Promise<WholeText | WrittenTexts> {
  const source: unknown = response.source;
  Object.assign(response, { source: '' });
  return source instanceof Texts ? source.written() : new WholeText(String(source));
}

/** The payload of a response as hapi uses it: sent as it is, or piped to a compressor. */
class WholeText {
  #text: string;
  readonly #bytes: number;

  constructor(text: string) {
    this.#text = text;
    this.#bytes = Buffer.byteLength(text);
  }

  size(): number {
    return this.#bytes;
  }

  writeToStream(to: Writable): void {
    // A text of ASCII has as many bytes as characters, and is copied without a look at each.
    to.end(this.#text, this.#bytes === this.#text.length ? 'latin1' : 'utf8');
    this.#text = '';
  }

  pipe<T extends Writable>(to: T): T {
    this.writeToStream(to);
    return to;
  }

  /** There is nothing to free. */
  destroy(): this {
    return this;
  }
}

/** The same payload, of several texts as bytes. */
class WrittenTexts {
  #bytes: Buffer;
  #buffer: Buffer | null = null;

  constructor(texts: readonly string[], units: number) {
    if (units * widest > bufferBytes) {
      this.#bytes = Buffer.from(texts.join(''));
      return;
    }
    const buffer = buffers.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
    let end = 0;
    for (const text of texts) end += buffer.write(text, end);
    this.#bytes = buffer.subarray(0, end);
    this.#buffer = buffer;
  }

  size(): number {
    return this.#bytes.length;
  }

  writeToStream(to: ServerResponse): void {
    to.end(this.#bytes);
    // A part that waits is still to be read from this memory, so that it is not used again.
    if (to.writableLength > 0) this.#buffer = null;
    this.destroy();
  }

  pipe<T extends Writable>(to: T): T {
    to.end(Buffer.from(this.#bytes));
    this.destroy();
    return to;
  }

  destroy(): this {
    if (this.#buffer !== null && buffers.length < mostBuffers) buffers.push(this.#buffer);
    this.#buffer = null;
    this.#bytes = Buffer.alloc(0);
    return this;
  }
}

// hapi treats an object with this prototype as a stream. The constructor of streams, which is slow, is not called: none
// of
// its state is needed.
for (const { prototype } of [WholeText, WrittenTexts]) Object.setPrototypeOf(prototype, Readable.prototype);
