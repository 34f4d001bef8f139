import type { IncomingMessage, Server as Listener, ServerResponse } from 'node:http';
import { mostWaiting } from './waiting.ts';

/**
 * So many writes begin in one turn of the event loop: a millisecond or two, after which it looks at what else has come. A turn also
 * takes in but one new connection.
 */
const perTurn = 4;

/** So many are refused in so many milliseconds: who asks again at once must not keep the thread from those that it serves. */
const pace = { refusals: 16, milliseconds: 50 };

const reading = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Writes that are to be refused. */
const shed = new WeakSet<IncomingMessage>();

/** Whether a write came when too many waited already. */
export function isShed(request: IncomingMessage): boolean {
  return shed.has(request);
}

/** A write that stands in line: since when, behind how many. */
type Waiting = { since: number; behind: number; request: IncomingMessage; response: ServerResponse; begin: () => void };

/**
 * Has writes begin a few at a time, in the order in which they came: hundreds at once would keep all that only reads, and new
 * connections, waiting until the last of them was done. To be called when the one who answers has been added to the listener.
 *
 * @param isCrowded whether too much waits to be written.
 * @returns what has all of them begin at once, for the end.
 */
export function takeTurns(listener: Listener, isCrowded: () => boolean): () => void {
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
      else enter({ since: performance.now(), behind: line.length, request, response, begin });
    });
  }

  function enter(waiting: Waiting): void {
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
    // Whoever has gone meanwhile is not answered.
    if (waiting.response.destroyed) return;
    if (isCrowded() || isLate(waiting)) {
      shed.add(waiting.request);
      refused.push(waiting);
      tell();
      return;
    }
    begun += 1;
    waiting.begin();
  }

  function tell(): void {
    const now = refused.splice(0, Math.max(pace.refusals - told, 0));
    told += now.length;
    for (const { begin } of now) begin();
    if (isTelling || told === 0) return;
    isTelling = true;
    setTimeout(() => {
      isTelling = false;
      told = 0;
      tell();
    }, pace.milliseconds).unref();
  }

  return () => {
    for (const { response, begin } of [...refused.splice(0), ...line.splice(0)]) if (!response.destroyed) begin();
  };
}

/** Whoever sent a write that has stood in a long line for so long may have given up. */
function isLate({ since, behind }: Waiting): boolean {
  return behind >= mostWaiting.few && performance.now() - since > mostWaiting.milliseconds;
}
