import { missingEvent } from './altered.ts';
import { clockStream } from './catalogue.ts';
import { headerOf } from './envelope.ts';

/** The parts of a log that the times of its events are read from. */
type Timed = {
  head: () => { size: number };
  headers: (after: number, upTo: number) => string[];
  positionsOf: (stream: string, after: number, upTo: number) => number[];
};

/**
 * The position of the last event recorded at or before a time (ISO 8601, UTC, milliseconds); 0 when all are later. Events that a
 * wrong clock recorded count as recorded when it was corrected.
 */
export function positionAt(log: Timed, time: string): number {
  // From a correction of the clock on times may be earlier than before.
  const corrections = log.positionsOf(clockStream, 0, Number.MAX_SAFE_INTEGER);
  let high = log.head().size;
  // Between two corrections times only go up.
  for (const start of corrections.reverse()) {
    if (timeAt(log, start) <= time) return lastWithin(log, time, { low: start, high });
    high = start - 1;
  }
  return lastWithin(log, time, { low: 0, high });
}

function lastWithin(log: Timed, time: string, between: { low: number; high: number }): number {
  let { low, high } = between;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (timeAt(log, middle) <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

function timeAt(log: Timed, position: number): string {
  const [header] = log.headers(position - 1, position);
  if (header === undefined) throw missingEvent(position);
  return headerOf(header).recordedAt;
}
