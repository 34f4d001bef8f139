import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Request } from '@hapi/hapi';
import type { Logger } from 'pino';
import { DomainError } from '../../config/errors.ts';
import { networkOf } from './limits.ts';
import { type Pace, slowest } from './pace.ts';
import { addressOf } from './requests.ts';
import { Texts } from './whole-text.ts';

/** How much memory responses may hold while they are sent, or wait to be read, in bytes. */
export type BacklogBounds = {
  /** How fast an answer must be read at least, as long as some of it waits. */
  pace: Pace;
  /** All answers of a thread. */
  total: number;
  /** The answers to one address, or to one /64 of IPv6. */
  perAddress: number;
  /** How often the answers are checked. */
  lookMilliseconds: number;
};

const MiB = 1024 * 1024;

const backlogBounds: BacklogBounds = {
  pace: slowest,
  total: 256 * MiB,
  perAddress: 64 * MiB,
  lookMilliseconds: 1000,
};

/** The answers of one thread that were not read to their end yet. */
export type Backlog = {
  /**
   * Counts an answer until it is over. To be called when the answer is known, right before it is sent.
   *
   * @returns the refusal to send in its place, if the answer is large and the backlog is full; else null.
   */
  admit: (request: Request) => DomainError | null;
  /** Counts an answer of this many bytes, which was sent already, until it is over. */
  hold: (request: Request, bytes: number) => void;
};

/** An answer that is not over. It does not hold the request, which would stay in memory as long as the response. */
type Answer = {
  response: ServerResponse;
  socket: Socket & { _handle?: Transport | null };
  address: string;
  /** As `networkOf` has it, once that was asked for. */
  network: string | null;
  /** Bytes that it holds until it is over. */
  bytes: number;
  /** How often it was checked. */
  looks: number;
  /** At how many checks in a row it was below the pace. */
  waited: number;
  /** Bytes sent by the connection at the first check. */
  begun: number;
  /** Bytes sent by the connection when it last kept the pace. */
  marked: number;
};

/** The counts of an answer before the first check. */
const unseen = { looks: 0, waited: 0, begun: 0, marked: 0 };

/** The handle behind a socket of Node; the parent of a handle of TLS is that of TCP. */
type Transport = { bytesWritten?: number; writeQueueSize?: number; _parent?: Transport | null };

/** Bytes that a stream holds: more of it is read when its client has read them. */
const streamBytes = 128 * 1024;
/** Bytes that a compressor holds beside its input. */
const compressorBytes = 256 * 1024;
/**
 * At how many checks in a row an answer must be below the pace to be slow: the system takes in pieces although the
 * client reads evenly.
 */
const slowLooks = 3;
const retrySeconds = 5;

/** The answers of a thread, and what is counted of them. */
type HeldAnswers = {
  answers: Set<Answer>;
  bounds: BacklogBounds;
  log: Pick<Logger, 'warn'>;
  /** Bytes of all answers. */
  total: number;
  /** Answers that were cut off since the last check. */
  cuts: number;
  isLookDue: boolean;
};

/**
 * Bounds the resources of responses that their clients do not read: memory, or an open file. A response that is read
 * too slowly is cut off with its connection. If the others together hold more than half of their limit, the slowest of
 * them are cut off too; if they hold all of it, a large answer is refused before it is sent.
 */
export function createBacklog(log: Pick<Logger, 'warn'>, bounds: BacklogBounds = backlogBounds): Backlog {
  const held: HeldAnswers = { answers: new Set(), bounds, log, total: 0, cuts: 0, isLookDue: false };
  return {
    admit: (request) => admit(held, request),
    hold: (request, bytes) => hold(held, request, bytes),
  };
}

function admit(held: HeldAnswers, request: Request): DomainError | null {
  const { req } = request.raw;
  // A request that is made up has no connection, and a connection of HTTP/2 has the answers of many requests.
  if (!(req.socket instanceof Socket) || req.httpVersionMajor > 1) return null;
  const bytes = sizeOf(request);
  // A write is recorded already: to refuse its answer would say that it is not.
  if (bytes > held.bounds.pace.bytes && request.method === 'get' && isFull(held, bytes, request))
    return new DomainError('unavailable', 'too many answers wait to be read; try again later', [], retrySeconds);
  hold(held, request, bytes + (isCompressed(request, bytes) ? compressorBytes : 0));
  return null;
}

function hold(held: HeldAnswers, request: Request, bytes: number): void {
  const { req, res } = request.raw;
  const address = addressOf(request);
  const answer: Answer = { response: res, socket: req.socket, address, network: null, bytes, ...unseen };
  held.answers.add(answer);
  held.total += bytes;
  res.on('close', () => leave(held, answer));
  lookSoon(held);
}

function isFull({ answers, bounds, total }: HeldAnswers, bytes: number, request: Request): boolean {
  if (total + bytes > bounds.total) return true;
  // While all together hold no more than one address may, no address has to be counted.
  if (total + bytes <= bounds.perAddress) return false;
  const network = networkOf(addressOf(request));
  let ofNetwork = 0;
  for (const answer of answers) if (networkAt(answer) === network) ofNetwork += answer.bytes;
  // A single answer may be of any size.
  return ofNetwork > 0 && ofNetwork + bytes > bounds.perAddress;
}

function leave(held: HeldAnswers, answer: Answer): void {
  if (held.answers.delete(answer)) held.total -= answer.bytes;
}

function lookSoon(held: HeldAnswers): void {
  if (held.isLookDue) return;
  held.isLookDue = true;
  setTimeout(look, held.bounds.lookMilliseconds, held).unref();
}

function look(held: HeldAnswers): void {
  const { answers, bounds, log } = held;
  held.isLookDue = false;
  for (const answer of answers) {
    if (answer.socket.destroyed || answer.response.closed) leave(held, answer);
    else if (isTooSlow(held, answer)) cut(held, answer);
  }
  if (held.total > bounds.perAddress / 2) {
    for (const some of Map.groupBy(answers, networkAt).values()) relieve(held, some, bounds.perAddress / 2);
    relieve(held, [...answers], bounds.total / 2);
  }
  if (held.cuts > 0) log.warn({ count: held.cuts }, 'answers were cut off that were read too slowly, or not at all');
  held.cuts = 0;
  if (answers.size > 0) lookSoon(held);
}

/** Counts checks, not time: while the thread or the process stood still, no client could read. */
function isTooSlow(held: HeldAnswers, answer: Answer): boolean {
  const { pace, lookMilliseconds } = held.bounds;
  const { socket, response } = answer;
  const sent = sentOver(socket);
  if (answer.looks === 0) answer.begun = answer.marked = sent;
  answer.looks += 1;
  // A response of unknown size is measured while it waits; a pipelined one has no socket until its turn.
  const grown = response.socket ? Math.max(0, socket.writableLength - answer.bytes) : 0;
  answer.bytes += grown;
  held.total += grown;
  const keepsPace = socket.writableLength === 0 || sent - answer.marked >= pace.bytes;
  if (keepsPace) answer.marked = sent;
  answer.waited = keepsPace ? 0 : answer.waited + 1;
  return answer.waited > pace.milliseconds / lookMilliseconds;
}

/** Cuts off the answers that were read slowest, until the rest holds no more than `most` bytes. */
function relieve(held: HeldAnswers, some: readonly Answer[], most: number): void {
  let bytesLeft = some.reduce((sum, { bytes }) => sum + bytes, 0);
  if (bytesLeft <= most) return;
  const slow = some.filter(({ waited }) => waited >= slowLooks).sort((a, b) => speedOf(a) - speedOf(b));
  for (const answer of slow) {
    if (bytesLeft <= most) return;
    bytesLeft -= answer.bytes;
    cut(held, answer);
  }
}

function cut(held: HeldAnswers, answer: Answer): void {
  answer.socket.destroy();
  leave(held, answer);
  held.cuts += 1;
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

/** A compressor takes in the whole answer, and gives it out as it is read. hapi does not compress pictures. */
function isCompressed({ info, response, server }: Request, bytes: number): boolean {
  if (bytes <= compressorBytes / 16 || info.acceptEncoding === '' || info.acceptEncoding === 'identity') return false;
  const type: unknown = 'contentType' in response ? response.contentType : null;
  return server.mime.type(typeof type === 'string' ? type : 'application/octet-stream').compressible;
}

/**
 * How many bytes the system has taken from a socket. Node counts whole texts: of a text of half a megabyte all or
 * nothing is sent. The handle counts bytes.
 */
function sentOver({ _handle }: Answer['socket']): number {
  const { bytesWritten = 0, writeQueueSize = 0 } = _handle?._parent ?? _handle ?? {};
  return bytesWritten - writeQueueSize;
}

/** The speed of an answer, in bytes per check. */
function speedOf({ socket, begun, looks }: Answer): number {
  return (sentOver(socket) - begun) / looks;
}

function networkAt(answer: Answer): string {
  answer.network ??= networkOf(answer.address);
  return answer.network;
}
