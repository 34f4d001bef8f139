import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Request } from '@hapi/hapi';
import type { Logger } from 'pino';
import { DomainError } from '../../config/errors.ts';
import { networkOf } from './limits.ts';
import { type Pace, slowest } from './pace.ts';
import { addressOf } from './requests.ts';
import { Texts } from './whole-text.ts';

/** The bytes that responses may hold while they are sent, or wait to be read. */
export type BacklogBounds = {
  /** How fast an answer must be read at least, as long as some of it waits. */
  pace: Pace;
  /** All answers of a thread. */
  total: number;
  /** Those to one address, or to the /64 of one. */
  perAddress: number;
  /** How often the answers are looked at. */
  lookMilliseconds: number;
};

const MiB = 1024 * 1024;

export const backlogBounds: BacklogBounds = {
  pace: slowest,
  total: 256 * MiB,
  perAddress: 64 * MiB,
  lookMilliseconds: 1000,
};

/** The answers of one thread that were not read to their end yet. */
export type Backlog = {
  /**
   * Counts an answer until it is over. It is called when the answer is known, right before it is sent.
   *
   * @returns why it is not sent, where it is large and there is no room; null where it is.
   */
  admit: (request: Request) => DomainError | null;
  /** Counts an answer of so many bytes until it is over, which was sent already. */
  hold: (request: Request, bytes: number) => void;
};

/**
 * It does not hold the request: a response that is over may be in memory for long, and would keep all of that there.
 */
type Answer = {
  response: ServerResponse;
  socket: Socket & { _handle?: Transport | null };
  address: string;
  /** As `networkOf` has it, once that was asked for. */
  network: string | null;
  /** Bytes that it holds until it is over. */
  bytes: number;
  /** How often it was looked at, and how often in a row it waited at less than the pace. */
  looks: number;
  waited: number;
  /** Bytes sent by the connection at the first look, and when it last kept the pace. */
  begun: number;
  marked: number;
};

/** The counts of an answer before the first look. */
const unseen = { looks: 0, waited: 0, begun: 0, marked: 0 };

/** Behind a socket of Node; below that of TLS is that of TCP. */
type Transport = { bytesWritten?: number; writeQueueSize?: number; _parent?: Transport | null };

/** Bytes that a stream holds: it is read on when its client has read the rest. */
const streamBytes = 128 * 1024;
/** Bytes that a compressor holds beside its input. */
const compressorBytes = 256 * 1024;
/**
 * How often in a row an answer must be found below the pace to be slow: the system takes in pieces although the client
 * reads evenly.
 */
const slowLooks = 3;
const retrySeconds = 5;

/**
 * Bounds the resources of responses that their clients do not read: memory, or an open file. One that is read too
 * slowly is cut off with its connection. Where the others together hold more than half of their limit, the slowest of
 * them are cut off too; where they hold all of it, a large answer is refused before it is sent.
 */
export function createBacklog(log: Pick<Logger, 'warn'>, bounds: BacklogBounds = backlogBounds): Backlog {
  const answers = new Set<Answer>();
  const patience = bounds.pace.milliseconds / bounds.lookMilliseconds;
  let total = 0;
  let cuts = 0;
  let isLooking = false;

  function admit(request: Request): DomainError | null {
    const { req } = request.raw;
    // A request that is made up has no connection, and one of HTTP/2 has the answers of many requests.
    if (!(req.socket instanceof Socket) || req.httpVersionMajor > 1) return null;
    const bytes = sizeOf(request);
    // Of a write that is recorded, a refusal would not be true.
    if (bytes > bounds.pace.bytes && request.method === 'get' && isFull(bytes, request))
      return new DomainError('unavailable', 'too many answers wait to be read; try again later', [], retrySeconds);
    hold(request, bytes + (isCompressed(request, bytes) ? compressorBytes : 0));
    return null;
  }

  function hold(request: Request, bytes: number): void {
    const { req, res } = request.raw;
    const address = addressOf(request);
    const answer: Answer = { response: res, socket: req.socket, address, network: null, bytes, ...unseen };
    answers.add(answer);
    total += bytes;
    res.on('close', () => leave(answer));
    lookSoon();
  }

  function isFull(bytes: number, request: Request): boolean {
    if (total + bytes > bounds.total) return true;
    // While all together hold no more than one address may, no address has to be counted.
    if (total + bytes <= bounds.perAddress) return false;
    const network = networkOf(addressOf(request));
    let held = 0;
    for (const answer of answers) if (networkAt(answer) === network) held += answer.bytes;
    // One alone may be of any size.
    return held > 0 && held + bytes > bounds.perAddress;
  }

  function leave(answer: Answer): void {
    if (answers.delete(answer)) total -= answer.bytes;
  }

  function lookSoon(): void {
    if (isLooking) return;
    isLooking = true;
    setTimeout(look, bounds.lookMilliseconds).unref();
  }

  function look(): void {
    isLooking = false;
    for (const answer of answers) {
      if (answer.socket.destroyed || answer.response.closed) leave(answer);
      else if (isTooSlow(answer)) cut(answer);
    }
    if (total > bounds.perAddress / 2) {
      for (const some of Map.groupBy(answers, networkAt).values()) relieve(some, bounds.perAddress / 2);
      relieve([...answers], bounds.total / 2);
    }
    if (cuts > 0) log.warn({ count: cuts }, 'answers were cut off that were read too slowly, or not at all');
    cuts = 0;
    if (answers.size > 0) lookSoon();
  }

  /** By looks, not by the clock: while the thread or the process stood still, no client could read. */
  function isTooSlow(answer: Answer): boolean {
    const { socket, response } = answer;
    const sent = sentOver(socket);
    if (answer.looks === 0) answer.begun = answer.marked = sent;
    answer.looks += 1;
    // A response of unknown size is measured while it waits; one whose turn has not come has no socket yet.
    const grown = response.socket ? Math.max(0, socket.writableLength - answer.bytes) : 0;
    answer.bytes += grown;
    total += grown;
    const keepsPace = socket.writableLength === 0 || sent - answer.marked >= bounds.pace.bytes;
    if (keepsPace) answer.marked = sent;
    answer.waited = keepsPace ? 0 : answer.waited + 1;
    return answer.waited > patience;
  }

  /** Cuts off those that were read slowest, until the rest holds no more than this. */
  function relieve(some: readonly Answer[], most: number): void {
    let held = some.reduce((sum, { bytes }) => sum + bytes, 0);
    if (held <= most) return;
    const slow = some.filter(({ waited }) => waited >= slowLooks).sort((a, b) => speedOf(a) - speedOf(b));
    for (const answer of slow) {
      if (held <= most) return;
      held -= answer.bytes;
      cut(answer);
    }
  }

  function cut(answer: Answer): void {
    answer.socket.destroy();
    leave(answer);
    cuts += 1;
  }

  return { admit, hold };
}

/** The known size of a response: an object is not serialized yet. */
function sizeOf({ response, method }: Request): number {
  if (response instanceof Error || method === 'head') return 0;
  const { variety } = response;
  const source: unknown = response.source;
  if (variety === 'stream') return streamBytes;
  if (source instanceof Texts) return source.units;
  if (typeof source === 'string') return Buffer.byteLength(source);
  return Buffer.isBuffer(source) ? source.length : 0;
}

/**
 * A compressor takes in the whole answer, and gives it out as it is read. hapi has none for types such as those of
 * pictures.
 */
function isCompressed({ info, response, server }: Request, bytes: number): boolean {
  if (bytes <= compressorBytes / 16 || info.acceptEncoding === '' || info.acceptEncoding === 'identity') return false;
  const type: unknown = 'contentType' in response ? response.contentType : null;
  return server.mime.type(typeof type === 'string' ? type : 'application/octet-stream').compressible;
}

/**
 * How many bytes the system has taken from a socket. Node itself tells of whole texts only: of half a megabyte in one,
 * that none of it was sent, or all. How far it is with one, the handle knows.
 */
function sentOver({ _handle }: Answer['socket']): number {
  const { bytesWritten = 0, writeQueueSize = 0 } = _handle?._parent ?? _handle ?? {};
  return bytesWritten - writeQueueSize;
}

/** In bytes for each look. */
function speedOf({ socket, begun, looks }: Answer): number {
  return (sentOver(socket) - begun) / looks;
}

function networkAt(answer: Answer): string {
  answer.network ??= networkOf(answer.address);
  return answer.network;
}
