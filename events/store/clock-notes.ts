import { counted } from '../../config/counted.ts';
import { clockStream } from '../facts/catalogue.ts';
import { inWords } from '../facts/durations.ts';
import type { Header } from '../facts/envelope.ts';
import { jumpMilliseconds } from './clock.ts';

/** In a log whose clock was put back, time stands still. Otherwise one millisecond never has this many requests. */
const manyRequests = 100;

/** A run of events with one time: its first position, its lead over the event before, and its number of requests. */
type Stretch = { from: number; time: string; step: number; requests: number; last: string };

/**
 * Looks through the times of a whole log, event by event, for clocks that were wrong. A note is no finding against the
 * log: the events are what was recorded.
 *
 * @param now milliseconds since the epoch.
 */
export function lookAtTimes(now: number): { look: (header: Header) => void; notes: () => string[] } {
  const limit = new Date(now + jumpMilliseconds).toISOString();
  const notes: string[] = [];
  let stretch: Stretch | null = null;
  let previous = '';
  /** The first event that is later than now, and how many there are. */
  let ahead = { from: 0, count: 0 };

  function look({ position, recordedAt, stream, correlationId }: Header): void {
    if (recordedAt < previous && stream === clockStream) noteCorrection(position, recordedAt);
    else if (recordedAt > limit) ahead = { from: ahead.from || position, count: ahead.count + 1 };
    if (stretch?.time !== recordedAt) {
      endStretch();
      const since = previous === '' ? 0 : Date.parse(recordedAt) - Date.parse(previous);
      stretch = { from: position, time: recordedAt, step: since, requests: 1, last: correlationId };
    } else if (stretch.last !== correlationId) {
      stretch.requests += 1;
      stretch.last = correlationId;
    }
    previous = recordedAt;
  }

  function noteCorrection(position: number, recordedAt: string): void {
    endStretch();
    ahead = { from: 0, count: 0 };
    const from = inWords(Date.parse(previous) - Date.parse(recordedAt));
    notes.push(`event ${position} corrected the clock, which had been ahead by ${from}, to ${recordedAt}`);
  }

  function endStretch(): void {
    if (stretch && stretch.step > jumpMilliseconds && stretch.requests >= manyRequests) {
      const { from, time, step, requests } = stretch;
      notes.push(
        `from event ${from} on time stood still at ${time} for ${counted(requests, 'request')}, after a step of ${inWords(step)}: ` +
          'the clock was ahead, and was put back',
      );
    }
    stretch = null;
  }

  return {
    look,
    notes() {
      endStretch();
      if (ahead.count === 0) return notes;
      const by = inWords(Date.parse(previous) - now);
      const which = `from event ${ahead.from} on ${counted(ahead.count, 'event was', 'events were')} recorded later than now, up to ${previous}`;
      return [...notes, `${which}, ${by} ahead of the clock of this machine: one of the two clocks is wrong`];
    },
  };
}
