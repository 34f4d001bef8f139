import type { IncomingMessage, Server as Listener, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Request } from '@hapi/hapi';
import type { Logger } from 'pino';
import { mostWaiting, tooMany } from '../writer/waiting.ts';

/**
 * So many writes begin in one turn of the event loop: a millisecond or two, after which it looks at what else has come.
 * A turn also takes in but one new connection.
 */
const perTurn = 4;

/** After so many milliseconds of work the event loop turns before another request begins. */
const turnMilliseconds = 50;

/** So many are refused in so many milliseconds: clients that retry at once must not keep the thread from others. */
const pace = { refusals: 16, milliseconds: 20 };

/**
 * So many requests may be sent ahead over all connections of the thread, some kilobytes each; a connection that sends
 * more is ended. One that has sent some is not read, but a piece of 64 KiB that has come already may hold a thousand.
 */
const mostAhead = 16_384;

const reading = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Writes that are to be refused. */
const shed = new WeakSet<IncomingMessage>();

/** Whether a write came when too many waited already. */
export function isShed(request: IncomingMessage): boolean {
  return shed.has(request);
}

const lineMilliseconds = 60_000;

/**
 * Makes what refuses the writes that came when too many waited already. A strategy calls it before it looks at a
 * credential, so no body is read and no hook runs; each route that is no read has a strategy.
 */
export function shedding({ log }: { log: Pick<Logger, 'warn'> }): (request: Request) => void {
  let nextLine = 0;

  return ({ method, raw }) => {
    if (method === 'get' || !isShed(raw.req)) return;
    // Each refusal has its line as every request has; this one says why.
    if (performance.now() >= nextLine) {
      nextLine = performance.now() + lineMilliseconds;
      log.warn('writes are refused with 503: too many wait to be written, or the writer is held up');
    }
    throw tooMany();
  };
}

/** How long writes waited to begin, in milliseconds. */
const stood = new WeakMap<IncomingMessage, number>();

/** How many milliseconds a request waited before it was taken up, for those before it on its connection too. */
export function stoodInLine(request: IncomingMessage): number {
  return stood.get(request) ?? 0;
}

/**
 * A request that is to begin: when it came, since when it stands in line, and behind how many. One that was sent ahead
 * stands there when those before it on its connection were answered: their time does not make it late.
 */
type Waiting = {
  came: number;
  since: number;
  behind: number;
  request: IncomingMessage;
  response: ServerResponse;
  begin: () => void;
  /** Puts it in the line of its server. */
  enter: (waiting: Waiting) => void;
};

/** A connection: whether a request of it is in hand, and those that were sent before that one was over. */
type Connection = { isBusy: boolean; ahead: Waiting[] };

/** By socket, for all servers of the thread: one connection may bring requests for several. */
const connections = new WeakMap<Socket, Connection>();
let aheadInAll = 0;

/** When the event loop turned last, as far as it was looked at, for all servers of the thread. */
let turned = 0;
let isTurning = false;

/**
 * Has requests begin in the order in which they came, so that none keeps others waiting for long: of one connection one
 * at a time, whatever it sends ahead; no more than the work of 50 ms before the event loop turns; and writes a few at a
 * time, for hundreds at once would keep all that only reads, and new connections, waiting until the last of them was
 * done. To be called when the one that answers has been added to the listener.
 *
 * @param isCrowded whether too much waits to be written for one more behind so many.
 * @param isExempt whether a write is never refused, and may begin however much waits.
 * @returns a function that lets all of them begin at once, for the end.
 */
export function takeTurns(
  listener: Listener,
  isCrowded: (ahead: number) => boolean,
  isExempt: (request: IncomingMessage) => boolean,
): () => void {
  const line: Waiting[] = [];
  const refused: Waiting[] = [];
  let begun = 0;
  let told = 0;
  let isWriting = false;
  let isTelling = false;

  for (const event of ['request', 'checkContinue'] as const) {
    const [answer] = listener.listeners(event) as [(request: IncomingMessage, response: ServerResponse) => void];
    listener.removeListener(event, answer);
    listener.on(event, (request: IncomingMessage, response: ServerResponse) => {
      const now = performance.now();
      const isFirst = takeConnection(request, response);
      if (isFirst && isRead(request) && now - turned < turnMilliseconds) {
        answer.call(listener, request, response);
        return;
      }
      const begin = () => answer.call(listener, request, response);
      const waiting = { came: now, since: now, behind: 0, request, response, begin, enter };
      if (isFirst) enter(waiting);
      else stepBehind(waiting);
    });
  }

  function enter(waiting: Waiting): void {
    if (isRead(waiting.request)) {
      beginLater(waiting);
      return;
    }
    waiting.behind = line.length;
    // It would stand in line only to be told so in the end.
    if (isRefused(waiting, line.length)) {
      refuse(waiting);
      return;
    }
    if (begun < perTurn && line.length === 0) start(waiting);
    else line.push(waiting);
    if (isWriting) return;
    isWriting = true;
    setImmediate(write);
  }

  function write(): void {
    isWriting = false;
    begun = 0;
    let next = 0;
    for (; next < line.length && begun < perTurn; next += 1) start(line[next] as Waiting);
    line.splice(0, next);
    if (begun === 0) return;
    isWriting = true;
    setImmediate(write);
  }

  function start(waiting: Waiting): void {
    // A client that has gone is not answered.
    if (waiting.response.destroyed) return;
    if (isRefused(waiting, 0)) {
      refuse(waiting);
      return;
    }
    begun += 1;
    beginNow(waiting);
  }

  function isRefused(waiting: Waiting, ahead: number): boolean {
    return (isCrowded(ahead) || isLate(waiting)) && !isExempt(waiting.request);
  }

  function refuse(waiting: Waiting): void {
    shed.add(waiting.request);
    if (refused.length >= mostWaiting.commands) {
      waiting.response.setHeader('connection', 'close');
      beginNow(waiting);
      return;
    }
    refused.push(waiting);
    tell();
  }

  function tell(): void {
    const now = refused.splice(0, Math.max(pace.refusals - told, 0));
    told += now.length;
    for (const waiting of now) beginNow(waiting);
    if (isTelling || told === 0) return;
    isTelling = true;
    setTimeout(() => {
      isTelling = false;
      told = 0;
      tell();
    }, pace.milliseconds).unref();
  }

  return () => {
    for (const waiting of [...refused.splice(0), ...line.splice(0)]) if (!waiting.response.destroyed) beginNow(waiting);
  };
}

function isRead({ method = '' }: IncomingMessage): boolean {
  return reading.has(method);
}

/**
 * Has a read begin when the event loop has turned. Each is a callback of its own: so one is answered, if it does not
 * wait, before the next begins.
 */
function beginLater(waiting: Waiting): void {
  if (!isTurning) {
    isTurning = true;
    setImmediate(noteTurn);
  }
  setImmediate(beginRead, waiting);
}

function noteTurn(): void {
  isTurning = false;
  turned = performance.now();
}

function beginRead(waiting: Waiting): void {
  // A client that has gone is not answered.
  if (waiting.response.destroyed) return;
  if (performance.now() - turned < turnMilliseconds) beginNow(waiting);
  else beginLater(waiting);
}

function beginNow({ came, request, begin }: Waiting): void {
  stood.set(request, performance.now() - came);
  begin();
}

/**
 * Whether a request may begin, for no other of its connection is in hand; then it is. One of HTTP/2, and one that is
 * made up, always may.
 */
function takeConnection({ socket, httpVersionMajor }: IncomingMessage, response: ServerResponse): boolean {
  if (!(socket instanceof Socket) || httpVersionMajor !== 1) return true;
  let connection = connections.get(socket);
  if (!connection) {
    connection = { isBusy: false, ahead: [] };
    connections.set(socket, connection);
  }
  if (connection.isBusy) return false;
  hold(socket, connection, response);
  return true;
}

function hold(socket: Socket, connection: Connection, response: ServerResponse): void {
  connection.isBusy = true;
  response.on('close', () => takeUp(socket, connection));
}

/** Has a request wait for those before it on its connection, which is not read meanwhile. */
function stepBehind(waiting: Waiting): void {
  const { socket } = waiting.request;
  const { ahead } = connections.get(socket) as Connection;
  ahead.push(waiting);
  aheadInAll += 1;
  if (ahead.length === 1) socket.pause().on('resume', pauseAgain);
  if (aheadInAll > mostAhead) socket.destroy();
}

/** Node reads on by itself whenever a request is over, or a body is taken. */
function pauseAgain(this: Socket): void {
  this.pause();
}

/** Takes up the next request of a connection when one is over. */
function takeUp(socket: Socket, connection: Connection): void {
  connection.isBusy = false;
  const { ahead } = connection;
  if (ahead.length === 0) return;
  // A client that has gone is not answered, nor one whose connection ends with the answer before.
  const next = socket.writable ? ahead.shift() : undefined;
  aheadInAll -= next ? 1 : ahead.splice(0).length;
  // The body of the last one may be to come.
  if (ahead.length === 0) socket.off('resume', pauseAgain).resume();
  if (!next) return;
  hold(socket, connection, next.response);
  next.since = performance.now();
  next.enter(next);
}

/** Whether requests were sent ahead over a connection, so that it is not read. */
export function isHeld(socket: Socket): boolean {
  return (connections.get(socket)?.ahead.length ?? 0) > 0;
}

/** The client of a write that has waited in a long queue for so long may have given up. */
function isLate({ since, behind }: Waiting): boolean {
  return behind >= mostWaiting.few && performance.now() - since > mostWaiting.milliseconds;
}
