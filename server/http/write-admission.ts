import type { IncomingMessage, Server as Listener, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Request } from '@hapi/hapi';
import type { Logger } from 'pino';
import { mostWaiting, tooMany } from '../writer/waiting.ts';

/**
 * How many writes begin in one iteration of the event loop: the work of a millisecond or two. An iteration also accepts
 * only one new connection.
 */
const writesPerIteration = 4;

/** After this much work the event loop goes round before another request begins. */
const iterationMilliseconds = 50;

/**
 * The number of refusals in a time: clients that retry at once must not keep the thread from other requests. Each
 * listener has this pace.
 */
const pace = { refusals: 16, milliseconds: 20 };

/**
 * The number of pipelined requests over all connections of the thread, each some kilobytes; a connection that sends
 * more is ended. A connection that has sent some is not read, but a piece of 64 KiB that was read may hold a thousand.
 */
const mostPipelined = 16_384;

const reading = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The writes that are to be refused. */
const shed = new WeakSet<IncomingMessage>();

/** Whether a write came when too many were queued. */
export function isShed(request: IncomingMessage): boolean {
  return shed.has(request);
}

const logMilliseconds = 60_000;

/**
 * Makes the function that refuses shed writes. A strategy calls it before it looks at a credential, so no body is read
 * and no hook runs; every route that is not a read has a strategy.
 */
export function shedding({ log }: { log: Pick<Logger, 'warn'> }): (request: Request) => void {
  let nextLine = 0;

  return ({ method, raw }) => {
    if (method === 'get' || !isShed(raw.req)) return;
    // Each refusal has its line as every request has; this one says why.
    if (performance.now() >= nextLine) {
      nextLine = performance.now() + logMilliseconds;
      log.warn('writes are refused with 503: too many wait to be written, or the writer is held up');
    }
    throw tooMany();
  };
}

/** How long requests were queued before they began, in milliseconds. */
const queuedFor = new WeakMap<IncomingMessage, number>();

/** How many milliseconds a request was queued before it began, also behind earlier requests of its connection. */
export function queuedMilliseconds(request: IncomingMessage): number {
  return queuedFor.get(request) ?? 0;
}

/** A request that is to begin. */
type WaitingRequest = {
  came: number;
  /**
   * Since when it is queued. A pipelined request is queued when the earlier ones of its connection are answered: their
   * time does not make it late.
   */
  since: number;
  /** How many writes were queued before it. */
  behind: number;
  request: IncomingMessage;
  response: ServerResponse;
  begin: () => void;
  queue: WriteQueue;
};

/** The writes of one listener that are to begin, and those that are to be refused. */
type WriteQueue = {
  waiting: WaitingRequest[];
  refused: WaitingRequest[];
  /** Writes that have begun in this iteration of the event loop. */
  begun: number;
  /** Refusals that were sent in this interval of the pace. */
  sent: number;
  isBeginning: boolean;
  isRefusing: boolean;
  isCrowded: (ahead: number) => boolean;
  isExempt: (request: IncomingMessage) => boolean;
};

/** A connection: whether one of its requests is in hand, and the requests that it has sent meanwhile. */
type Connection = { isBusy: boolean; pipelined: WaitingRequest[] };

/** By socket, for all listeners of the thread: one connection may bring requests for several. */
const connections = new WeakMap<Socket, Connection>();
let pipelinedInAll = 0;

/** When the last iteration of the event loop that was noted began, for all listeners of the thread. */
let iterationBegan = 0;
let isNoting = false;

/**
 * Has requests begin in the order in which they came, so that none keeps others waiting for long. A connection has one
 * request in hand, however many it pipelines. No more than the work of 50 ms begins in one iteration of the event loop.
 * Writes begin a few at a time: hundreds at once would keep all reads, and new connections, waiting until the last of
 * them was done. To be called when the handler of requests has been added to the listener.
 *
 * @param isCrowded whether too much waits to be written for one more write behind this many.
 * @param isExempt whether a write is never refused, and may begin however much waits.
 * @returns a function that lets all queued requests begin at once, for the end.
 */
export function admitWrites(
  listener: Listener,
  isCrowded: (ahead: number) => boolean,
  isExempt: (request: IncomingMessage) => boolean,
): () => void {
  const counts = { begun: 0, sent: 0, isBeginning: false, isRefusing: false };
  const queue: WriteQueue = { waiting: [], refused: [], ...counts, isCrowded, isExempt };

  for (const event of ['request', 'checkContinue'] as const) {
    const [answer] = listener.listeners(event) as [(request: IncomingMessage, response: ServerResponse) => void];
    listener.removeListener(event, answer);
    listener.on(event, (request: IncomingMessage, response: ServerResponse) => {
      const now = performance.now();
      const isFirst = takeConnection(request, response);
      if (isFirst && isRead(request) && now - iterationBegan < iterationMilliseconds) {
        answer.call(listener, request, response);
        return;
      }
      const begin = () => answer.call(listener, request, response);
      const waiting = { came: now, since: now, behind: 0, request, response, begin, queue };
      if (isFirst) enter(waiting);
      else pipeline(waiting);
    });
  }

  return () => {
    for (const one of [...queue.refused.splice(0), ...queue.waiting.splice(0)]) {
      if (!one.response.destroyed) beginNow(one);
    }
  };
}

function enter(waiting: WaitingRequest): void {
  if (isRead(waiting.request)) {
    beginLater(waiting);
    return;
  }
  const { queue } = waiting;
  waiting.behind = queue.waiting.length;
  // It would be queued only to be refused in the end.
  if (isRefused(waiting, queue.waiting.length)) {
    refuse(waiting);
    return;
  }
  if (queue.begun < writesPerIteration && queue.waiting.length === 0) start(waiting);
  else queue.waiting.push(waiting);
  if (queue.isBeginning) return;
  queue.isBeginning = true;
  setImmediate(beginWrites, queue);
}

function beginWrites(queue: WriteQueue): void {
  queue.isBeginning = false;
  queue.begun = 0;
  let next = 0;
  for (; next < queue.waiting.length && queue.begun < writesPerIteration; next += 1)
    start(queue.waiting[next] as WaitingRequest);
  queue.waiting.splice(0, next);
  if (queue.begun === 0) return;
  queue.isBeginning = true;
  setImmediate(beginWrites, queue);
}

function start(waiting: WaitingRequest): void {
  // A client that has gone is not answered.
  if (waiting.response.destroyed) return;
  if (isRefused(waiting, 0)) {
    refuse(waiting);
    return;
  }
  waiting.queue.begun += 1;
  beginNow(waiting);
}

function isRefused(waiting: WaitingRequest, ahead: number): boolean {
  const { isCrowded, isExempt } = waiting.queue;
  return (isCrowded(ahead) || isLate(waiting)) && !isExempt(waiting.request);
}

/** The client of a write that was queued for long behind many others may have given up. */
function isLate({ since, behind }: WaitingRequest): boolean {
  return behind >= mostWaiting.few && performance.now() - since > mostWaiting.milliseconds;
}

function refuse(waiting: WaitingRequest): void {
  const { queue } = waiting;
  shed.add(waiting.request);
  if (queue.refused.length >= mostWaiting.commands) {
    waiting.response.setHeader('connection', 'close');
    beginNow(waiting);
    return;
  }
  queue.refused.push(waiting);
  sendRefusals(queue);
}

function sendRefusals(queue: WriteQueue): void {
  const now = queue.refused.splice(0, Math.max(pace.refusals - queue.sent, 0));
  queue.sent += now.length;
  for (const waiting of now) beginNow(waiting);
  if (queue.isRefusing || queue.sent === 0) return;
  queue.isRefusing = true;
  setTimeout(sendNextRefusals, pace.milliseconds, queue).unref();
}

function sendNextRefusals(queue: WriteQueue): void {
  queue.isRefusing = false;
  queue.sent = 0;
  sendRefusals(queue);
}

function isRead({ method = '' }: IncomingMessage): boolean {
  return reading.has(method);
}

/**
 * Has a read begin in the next iteration of the event loop. Each read has its own callback, so that a read that does
 * not wait is answered before the next one begins.
 */
function beginLater(waiting: WaitingRequest): void {
  if (!isNoting) {
    isNoting = true;
    setImmediate(noteIteration);
  }
  setImmediate(beginRead, waiting);
}

function noteIteration(): void {
  isNoting = false;
  iterationBegan = performance.now();
}

function beginRead(waiting: WaitingRequest): void {
  // A client that has gone is not answered.
  if (waiting.response.destroyed) return;
  if (performance.now() - iterationBegan < iterationMilliseconds) beginNow(waiting);
  else beginLater(waiting);
}

function beginNow({ came, request, begin }: WaitingRequest): void {
  queuedFor.set(request, performance.now() - came);
  begin();
}

/**
 * Whether a request may begin, since no other of its connection is in hand; if so, it is now in hand. A request of
 * HTTP/2, and one that is made up, may always begin.
 */
function takeConnection({ socket, httpVersionMajor }: IncomingMessage, response: ServerResponse): boolean {
  if (!(socket instanceof Socket) || httpVersionMajor !== 1) return true;
  let connection = connections.get(socket);
  if (!connection) {
    connection = { isBusy: false, pipelined: [] };
    connections.set(socket, connection);
  }
  if (connection.isBusy) return false;
  hold(socket, connection, response);
  return true;
}

function hold(socket: Socket, connection: Connection, response: ServerResponse): void {
  connection.isBusy = true;
  response.on('close', () => enterNext(socket, connection));
}

/** Has a request wait for the earlier ones of its connection, which is not read meanwhile. */
function pipeline(waiting: WaitingRequest): void {
  const { socket } = waiting.request;
  const { pipelined } = connections.get(socket) as Connection;
  pipelined.push(waiting);
  pipelinedInAll += 1;
  if (pipelined.length === 1) socket.pause().on('resume', pauseAgain);
  if (pipelinedInAll > mostPipelined) socket.destroy();
}

/** Node itself reads on whenever a request is over, or a body is taken. */
function pauseAgain(this: Socket): void {
  this.pause();
}

/** Enters the next request of a connection when one is over. */
function enterNext(socket: Socket, connection: Connection): void {
  connection.isBusy = false;
  const { pipelined } = connection;
  if (pipelined.length === 0) return;
  // A client that has gone is not answered, nor one whose connection ends with the answer before.
  const next = socket.writable ? pipelined.shift() : undefined;
  pipelinedInAll -= next ? 1 : pipelined.splice(0).length;
  // The body of the last request may still have to come.
  if (pipelined.length === 0) socket.off('resume', pauseAgain).resume();
  if (!next) return;
  hold(socket, connection, next.response);
  next.since = performance.now();
  enter(next);
}

/** Whether requests are pipelined over a connection, so that it is not read. */
export function isHeld(socket: Socket): boolean {
  return (connections.get(socket)?.pipelined.length ?? 0) > 0;
}
