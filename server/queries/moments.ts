import { setTimeout } from 'node:timers/promises';
import { DomainError, type FieldError, inQuery, invalidField } from '../../config/errors.ts';
import { show } from '../../config/suggest.ts';
import { readDate, readDatetime } from '../../config/times.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import type { Parameter, Values } from './parameters.ts';

/** A log, and what time it is. */
export type Now = { events: Pick<LogReader, 'head' | 'positionAt'>; clock: { believed: () => number } };

/** How long the read tables may be behind the log. */
const patienceMilliseconds = 5000;

/**
 * Waits until the read tables have reached a position: the log commits a moment before them.
 *
 * @throws DomainError `unavailable` if they do not reach it in time.
 */
export async function whenReadable(app: { appliedPosition: () => number }, position: number): Promise<void> {
  const until = performance.now() + patienceMilliseconds;
  // Mostly a few milliseconds. If it is seconds, the waiting requests leave the CPU to the read tables.
  for (let pause = 2; app.appliedPosition() < position; pause = Math.min(2 * pause, 100)) {
    if (performance.now() > until) throw new DomainError('unavailable', 'the read tables are behind the log', [], 1);
    await setTimeout(pause);
  }
}

type NamedMoment = { kind: 'position'; position: number } | { kind: 'time'; first: number; last: number };

/**
 * The position that a moment names. A position names itself; a time (ISO 8601, with a zone) names the position of the
 * last event recorded at or before it, 0 if there was none; a date names the same as the end of that day in UTC.
 *
 * @param name the parameter, for the message.
 * @throws DomainError `validation_failed` for a text that is not a moment, or a moment that is still to come.
 */
export function readMoment(text: unknown, name: string, now: Now): number {
  return endOf(parse(text, name, now), now);
}

/** A moment as a parameter; null if it is missing. */
export function moment(description: string): Parameter<NamedMoment | null, Now> {
  return {
    told: { description, schema: { type: 'string', minLength: 1 } },
    read: (given, name, now) => (given === undefined ? null : parse(given, name, now)),
  };
}

/** The first and the last moment of a range, as parameters. */
export const range = { from: bound('first'), to: bound('last') };

function bound(which: string): Parameter<NamedMoment | null, Now> {
  return moment(
    `The ${which} moment: a position from 1, a date and time with a zone, or a date in UTC. Not in the future.`,
  );
}

/**
 * The first and the last position of a range: from the beginning of the moment `from`, up to the end of the moment `to`
 * as {@link readMoment} reads it. If they are missing, `from` is 1 and `to` null. If no event is between them, `from`
 * is `to` + 1. Problems go to `errors`.
 */
export function positionsOf(
  { from: first, to: last }: Partial<Values<typeof range>>,
  now: Now,
  errors: FieldError[],
): { from: number; to: number | null } {
  const from = first ? startOf(first, now) : 1;
  const to = last ? endOf(last, now) : null;
  if (to !== null && (from > to + 1 || areTurned(first, last))) {
    errors.push({
      ...inQuery('from', 'contradiction'),
      message: `from must not be after to, got the positions ${from} and ${to}`,
    });
  }
  return { from, to };
}

/** Whether two moments are in the wrong order: two times without an event between them have the same positions. */
function areTurned(from: NamedMoment | null | undefined, to: NamedMoment | null | undefined): boolean {
  return from?.kind === 'time' && to?.kind === 'time' && from.first > to.last;
}

function startOf(moment: NamedMoment, { events }: Now): number {
  return moment.kind === 'position' ? moment.position : events.positionAt(isoOf(moment.first - 1)) + 1;
}

function endOf(moment: NamedMoment, { events }: Now): number {
  return moment.kind === 'position' ? moment.position : events.positionAt(isoOf(moment.last));
}

function parse(text: unknown, name: string, { events, clock }: Now): NamedMoment {
  if (typeof text !== 'string') throw invalidField(inQuery(name, 'duplicate'), 'must be given once');
  if (/^\d+$/.test(text)) {
    const { size } = events.head();
    const position = Number(text);
    if (position >= 1 && position <= size) return { kind: 'position', position };
    throw invalidField(
      inQuery(name, 'out_of_range', { limit: size }),
      `must be a position from 1 to ${size}, where the log ends, got ${show(text)}`,
    );
  }
  const time = timeOf(text);
  if (time === null) throw invalidField(inQuery(name, 'format'), `must be ${forms}, got ${show(text)}`);
  if (time.first > clock.believed())
    throw invalidField(inQuery(name, 'out_of_range'), `must not be in the future, got ${show(text)}`);
  return { kind: 'time', ...time };
}

/** The first and the last millisecond of a time or a date; null for other texts. */
function timeOf(text: string): { first: number; last: number } | null {
  const date = readDate(text);
  // The "+" of a zone comes as a space if it is not encoded.
  const time = date === undefined ? readDatetime(text.replace(/ (?=\d\d:\d\d$)/, '+')) : `${date}T00:00:00Z`;
  if (time === undefined) return null;
  const first = Date.parse(time);
  return { first, last: date === undefined ? first : first + dayMilliseconds - 1 };
}

/** The end of a moment that is still to come, in milliseconds since the epoch; null for every other value. */
export function futureTime(given: unknown, { clock }: Pick<Now, 'clock'>): number | null {
  const time = typeof given === 'string' ? timeOf(given) : null;
  return time && time.first > clock.believed() ? time.last : null;
}

const forms = 'a position like 1234, a time with a zone like "2026-11-20T12:00:00Z" or a date like "2026-11-20"';
const dayMilliseconds = 24 * 60 * 60 * 1000;

/** Times outside of four-digit years do not sort as texts; no event is that old. */
function isoOf(milliseconds: number): string {
  return new Date(Math.max(milliseconds, 0)).toISOString();
}
