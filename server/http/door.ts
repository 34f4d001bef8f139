import type { IncomingMessage, Server as Listener, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Request } from '@hapi/hapi';
import type { Logger } from 'pino';
import { mostWaiting, tooMany } from '../writer/waiting.ts';

/**
 * So many writes begin in one turn of the event loop: a millisecond or two, after which it looks at what else has come. A turn also
 * takes in but one new connection.
 */
const perTurn = 4;

/** So many are refused in so many milliseconds: clients that retry at once must not keep the thread from others. */
const pace = { refusals: 16, milliseconds: 50 };

/** A connection that sends more writes ahead than this, without an answer to the first, is ended: Node would take in all of them. */
const mostAhead = 256;

const reading = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Writes that are to be refused. */
const shed = new WeakSet<IncomingMessage>();

/** Whether a write came when too many waited already. */
export function isShed(request: IncomingMessage): boolean {
  return shed.has(request);
}

const lineMilliseconds = 60_000;

/**
 * Makes what refuses the writes that came when too many waited already. A strategy calls it before it looks at a credential, so no body is
 * read and no hook runs; each route that is no read has a strategy.
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
 * A write that is to begin: when it came, since when it stands in line, and behind how many. One that was sent ahead stands there when
 * those before it on its connection were answered: their time does not make it late.
 */
type Waiting = {
  came: number;
  since: number;
  behind: number;
  request: IncomingMessage;
  response: ServerResponse;
  begin: () => void;
};

/**
 * Has writes begin a few at a time, in the order in which they came: hundreds at once would keep all that only reads, and new
 * connections, waiting until the last of them was done. Of one connection there is one at a time. To be called when the one that
 * answers has been added to the listener.
 *
 * @param isCrowded whether too much waits to be written.
 * @param isExempt whether a write is never refused, and may begin however much waits.
 * @returns a function that lets all of them begin at once, for the end.
 */
export function takeTurns(
  listener: Listener,
  isCrowded: () => boolean,
  isExempt: (request: IncomingMessage) => boolean,
): () => void {
  /** Of connections with a write that has no answer yet: requests that they have sent ahead. */
  const ahead = new WeakMap<Socket, Waiting[]>();
  const line: Waiting[] = [];
  const refused: Waiting[] = [];
  let begun = 0;
  let told = 0;
  let isTurning = false;
  let isTelling = false;

  for (const event of ['request', 'checkContinue'] as const) {
    const [answer] = listener.listeners(event) as [(request: IncomingMessage, response: ServerResponse) => void];
    listener.removeListener(event, answer);
    listener.on(event, (request: IncomingMessage, response: ServerResponse) => {
      const begin = () => answer.call(listener, request, response);
      if (reading.has(request.method ?? '')) begin();
      else {
        const came = performance.now();
        come({ came, since: came, behind: 0, request, response, begin });
      }
    });
  }

  function come(waiting: Waiting): void {
    const connection = connectionOf(waiting.request);
    if (!connection) {
      enter(waiting);
      return;
    }
    const others = ahead.get(connection);
    if (!others) takeUp(connection, [waiting]);
    else if (others.length < mostAhead) others.push(waiting);
    else connection.destroy();
  }

  function takeUp(connection: Socket, sent: Waiting[]): void {
    const next = sent.shift();
    if (!next || connection.destroyed) {
      ahead.delete(connection);
      return;
    }
    ahead.set(connection, sent);
    next.since = performance.now();
    next.response.once('close', () => takeUp(connection, sent));
    enter(next);
  }

  function enter(waiting: Waiting): void {
    waiting.behind = line.length;
    if (begun < perTurn && line.length === 0) start(waiting);
    else line.push(waiting);
    if (isTurning) return;
    isTurning = true;
    setImmediate(turn);
  }

  function turn(): void {
    isTurning = false;
    begun = 0;
    let next = 0;
    for (; next < line.length && begun < perTurn; next += 1) start(line[next] as Waiting);
    line.splice(0, next);
    if (begun === 0) return;
    isTurning = true;
    setImmediate(turn);
  }

  function start(waiting: Waiting): void {
    // A client that has gone is not answered.
    if (waiting.response.destroyed) return;
    if ((isCrowded() || isLate(waiting)) && !isExempt(waiting.request)) {
      refuse(waiting);
      return;
    }
    begun += 1;
    beginNow(waiting);
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

function beginNow({ came, request, begin }: Waiting): void {
  stood.set(request, performance.now() - came);
  begin();
}

/** The connection over which a request came as one after the other; null for one of HTTP/2, and one that is made up. */
function connectionOf({ socket, httpVersionMajor }: IncomingMessage): Socket | null {
  return socket instanceof Socket && httpVersionMajor === 1 ? socket : null;
}

/** The client of a write that has waited in a long queue for so long may have given up. */
function isLate({ since, behind }: Waiting): boolean {
  return behind >= mostWaiting.few && performance.now() - since > mostWaiting.milliseconds;
}
