import { setTimeout } from 'node:timers/promises';
import { DomainError, type FieldError, invalidField } from '../../config/errors.ts';
import { show } from '../../config/suggest.ts';
import { readDate, readDatetime } from '../../config/times.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import type { Parameter, Values } from './parameters.ts';

/** A log, and what time it is. */
export type Now = { events: Pick<LogReader, 'head' | 'positionAt'>; clock: { believed: () => number } };

/** How long the read tables may be behind the log. */
const patienceMilliseconds = 5000;

/**
 * Waits until the read tables have come to a position: for the moment between the commit of the log and theirs, it is
 * ahead.
 *
 * @throws DomainError `unavailable` when they do not.
 */
export async function whenReadable(app: { appliedPosition: () => number }, position: number): Promise<void> {
  const until = performance.now() + patienceMilliseconds;
  // Mostly a few milliseconds; where it is seconds, those who wait leave the CPU to what they wait for.
  for (let pause = 2; app.appliedPosition() < position; pause = Math.min(2 * pause, 100)) {
    if (performance.now() > until) throw new DomainError('unavailable', 'the read tables are behind the log', [], 1);
    await setTimeout(pause);
  }
}

type Named = { kind: 'position'; position: number } | { kind: 'time'; first: number; last: number };

/**
 * The position that a moment names, by which all until then has happened: a position itself; of a time (ISO 8601, with
 * a zone) that of the last event recorded at or before it, 0 when there was none; of a date the same for the end of
 * that day in UTC.
 *
 * @param name the parameter, for the message.
 * @throws DomainError `invalid` for a text that is not a moment, or a moment that is still to come.
 */
export function readMoment(text: unknown, name: string, now: Now): number {
  return endOf(parse(text, name, now), now);
}

/** A moment as a parameter; null where it is missing. */
export function moment(description: string): Parameter<Named | null, Now> {
  return {
    told: { description, schema: { type: 'string', minLength: 1 } },
    read: (given, name, now) => (given === undefined ? null : parse(given, name, now)),
  };
}

/** The first and the last moment of a range, as parameters. */
export const range = { from: bound('first'), to: bound('last') };

function bound(which: string): Parameter<Named | null, Now> {
  return moment(
    `The ${which} moment: a position from 1, a date and time with a zone, or a date in UTC. Not in the future.`,
  );
}

/**
 * The first and the last position of a range: from the beginning of the moment `from`, up to the end of the moment `to`
 * as of {@link readMoment}. `from` is 1 and `to` null where they are not given; `from` is one behind `to` where no
 * event is between them. Problems go to `errors`.
 */
export function positionsOf(
  { from: first, to: last }: Partial<Values<typeof range>>,
  now: Now,
  errors: FieldError[],
): { from: number; to: number | null } {
  const from = first ? startOf(first, now) : 1;
  const to = last ? endOf(last, now) : null;
  if (to !== null && (from > to + 1 || areTurned(first, last))) {
    errors.push({ field: 'from', message: `from must not be after to, got the positions ${from} and ${to}` });
  }
  return { from, to };
}

/** Two times without an event between them have the same positions in either order. */
function areTurned(from: Named | null | undefined, to: Named | null | undefined): boolean {
  return from?.kind === 'time' && to?.kind === 'time' && from.first > to.last;
}

function startOf(moment: Named, { events }: Now): number {
  return moment.kind === 'position' ? moment.position : events.positionAt(isoOf(moment.first - 1)) + 1;
}

function endOf(moment: Named, { events }: Now): number {
  return moment.kind === 'position' ? moment.position : events.positionAt(isoOf(moment.last));
}

function parse(text: unknown, name: string, { events, clock }: Now): Named {
  if (typeof text !== 'string') throw invalidField(name, 'must be given once');
  if (/^\d+$/.test(text)) {
    const { size } = events.head();
    const position = Number(text);
    if (position >= 1 && position <= size) return { kind: 'position', position };
    throw invalidField(name, `must be a position from 1 to ${size}, where the log ends, got ${show(text)}`);
  }
  const date = readDate(text);
  // An unencoded "+" of a zone comes as a space.
  const time = date === undefined ? readDatetime(text.replace(/ (?=\d\d:\d\d$)/, '+')) : `${date}T00:00:00Z`;
  if (time === undefined) throw invalidField(name, `must be ${forms}, got ${show(text)}`);
  const first = Date.parse(time);
  if (first > clock.believed()) throw invalidField(name, `must not be in the future, got ${show(text)}`);
  return { kind: 'time', first, last: date === undefined ? first : first + dayMilliseconds - 1 };
}

const forms = 'a position like 1234, a time with a zone like "2026-11-20T12:00:00Z" or a date like "2026-11-20"';
const dayMilliseconds = 24 * 60 * 60 * 1000;

/** Times outside of four-digit years do not sort as texts; no event is that old. */
function isoOf(milliseconds: number): string {
  return new Date(Math.max(milliseconds, 0)).toISOString();
}
