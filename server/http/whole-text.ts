import type { ServerResponse } from 'node:http';
import { Readable, type Writable } from 'node:stream';
import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { keepUntilRest } from '../../storage/kept.ts';

/**
 * A response of this text, of which the type is still to be told. hapi would make a stream of it, write that and then
 * end the answer, and take the stream down: together as much work as the query for a document. This one is written and
 * ended in one step.
 */
export function wholeText({ request }: ResponseToolkit, text: string): ResponseObject {
  return request.generateResponse(text, { marshal: take });
}

/**
 * As {@link wholeText}, of texts that come one after the other: joined into one, a long answer would be copied once
 * more.
 */
export function wholeTexts({ request }: ResponseToolkit, texts: readonly string[]): ResponseObject {
  return request.generateResponse(new Texts(texts), { marshal: take });
}

/** The source of a response of several texts. */
export class Texts {
  readonly #all: readonly string[];
  /** How many units of UTF-16 they have; they have as many bytes, or up to three times as many. */
  readonly units: number;

  constructor(all: readonly string[]) {
    this.#all = all;
    this.units = all.reduce((sum, { length }) => sum + length, 0);
  }

  joined(): string {
    return this.#all.join('');
  }

  /** Writes them down, as UTF-8. */
  written(): WrittenTexts {
    return new WrittenTexts(this.#all, this.units);
  }
}

const roomBytes = 1024 * 1024;
const widest = 3;
const mostRooms = 4;

/**
 * Memory of this thread to write answers into that are sent at once: new memory for each is new pages of the system
 * each time.
 */
const rooms: Buffer[] = [];
keepUntilRest(() => rooms.splice(0));

/**
 * The response may be in memory for long after it was sent, of a connection with many requests ahead: the text is not,
 * then.
 */
async function take(response: ResponseObject): Promise<WholeText | WrittenTexts> {
  const source: unknown = response.source;
  Object.assign(response, { source: '' });
  return source instanceof Texts ? source.written() : new WholeText(String(source));
}

/** The payload of a response as hapi uses it: it is sent as it is, or piped to what compresses it. */
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
    // The bytes of a text of ASCII alone are the same, and are copied without a look at each.
    to.end(this.#text, this.#bytes === this.#text.length ? 'latin1' : 'utf8');
    this.#text = '';
  }

  pipe<T extends Writable>(to: T): T {
    this.writeToStream(to);
    return to;
  }

  /** Holds nothing that could be let go. */
  destroy(): this {
    return this;
  }
}

/** The same of texts, as bytes. */
class WrittenTexts {
  #bytes: Buffer;
  #room: Buffer | null = null;

  constructor(texts: readonly string[], units: number) {
    if (units * widest > roomBytes) {
      this.#bytes = Buffer.from(texts.join(''));
      return;
    }
    const room = rooms.pop() ?? Buffer.allocUnsafeSlow(roomBytes);
    let end = 0;
    for (const text of texts) end += room.write(text, end);
    this.#bytes = room.subarray(0, end);
    this.#room = room;
  }

  size(): number {
    return this.#bytes.length;
  }

  writeToStream(to: ServerResponse): void {
    to.end(this.#bytes);
    // A part that waits is read from the room when its turn comes.
    if (to.writableLength > 0) this.#room = null;
    this.destroy();
  }

  pipe<T extends Writable>(to: T): T {
    to.end(Buffer.from(this.#bytes));
    this.destroy();
    return to;
  }

  destroy(): this {
    if (this.#room !== null && rooms.length < mostRooms) rooms.push(this.#room);
    this.#room = null;
    this.#bytes = Buffer.alloc(0);
    return this;
  }
}

// hapi takes for a stream what has this prototype. Its constructor, which is what costs, is not called: none of its
// state is needed.
for (const { prototype } of [WholeText, WrittenTexts]) Object.setPrototypeOf(prototype, Readable.prototype);
