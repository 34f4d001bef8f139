import type { Writable } from 'node:stream';
import { Readable } from 'node:stream';
import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';

/**
 * A response of this text, of which the type is still to be told. hapi would make a stream of it, write that and then end the answer,
 * and take the stream down: together as much work as the query for a document. This one is written and ended in one step.
 */
export function wholeText({ request }: ResponseToolkit, text: string): ResponseObject {
  return request.generateResponse(text, { marshal: take });
}

/** The response may be in memory for long after it was sent, of a connection with many requests ahead: the text is not, then. */
async function take(response: ResponseObject): Promise<WholeText> {
  const text = String(response.source);
  Object.assign(response, { source: '' });
  return new WholeText(text);
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

// hapi takes for a stream what has this prototype. Its constructor, which is what costs, is not called: none of its state is needed.
Object.setPrototypeOf(WholeText.prototype, Readable.prototype);
