import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { EventType } from '../../events/facts/catalogue.ts';
import type { Actor, Header } from '../../events/facts/envelope.ts';
import { startWait } from './patience.ts';
import type { Answer } from './service.ts';

/** An event of a log, as a test looks at it. */
export type Recorded = {
  id: string;
  position: number;
  stream: string;
  type: EventType;
  /** Missing if the payload has been erased. */
  data?: Record<string, unknown>;
  actor: Actor;
  /** The `x-request-id` of the answer to the request that recorded it. */
  correlationId: string;
};

/**
 * An event that a test expects: its type, or its type and stream, as `document.created posts/1`, or some of its
 * members.
 */
export type Expected = string | ({ type: EventType } & Partial<Recorded>);

/**
 * Runs a call that may write to a log, and asserts what it has recorded, all of it and in this order: `[]` if it
 * records nothing. Nothing else may write in the same service meanwhile. A failed login and the request of a reset are
 * recorded after the answer: the events are waited for, and those of requests that were answered before are left out.
 * `email.sent` and `email.failed` come when a mail server has answered: they are left out if `expected` names neither,
 * and so are those of mails that were asked for before.
 *
 * @param expected the events, or a function that makes them of the result of `run`.
 * @param minutes in which the last of them has to come.
 * @returns the result of `run`.
 */
export async function assertRecorded<T>(
  service: { data: string },
  run: () => Promise<T>,
  expected: readonly Expected[] | ((result: T) => readonly Expected[]),
  minutes = 1,
): Promise<T> {
  const log = followLog(service.data);
  try {
    log.next();
    const begun = answered.size;
    const result = await run();
    const wanted = typeof expected === 'function' ? expected(result) : expected;
    const found: Recorded[] = [];
    const withMails = wanted.some((one) => (typeof one === 'string' ? one : one.type).startsWith('email.'));
    const isOfOtherMail = ({ type, data }: Recorded) =>
      type.startsWith('email.') && !(withMails && found.some(({ id }) => id === data?.event));
    const isLate = ({ correlationId }: Recorded) => (answered.get(correlationId) ?? begun) < begun;
    for (const wait = startWait(minutes); ; ) {
      for (const event of log.next()) if (!isOfOtherMail(event) && !isLate(event)) found.push(event);
      if (found.length >= wanted.length || wait.isOver()) break;
      await setTimeout(10);
    }
    assert.deepEqual(
      found.map((event, index) => asExpected(event, wanted[index])),
      wanted,
    );
    return result;
  } finally {
    log.close();
  }
}

/** An event, reduced to what the test says about the event at its place. */
function asExpected(event: Recorded, expected: Expected | undefined): Expected {
  if (typeof expected === 'string') return expected.includes(' ') ? `${event.type} ${event.stream}` : event.type;
  if (expected === undefined) return event;
  const names = Object.keys(expected) as (keyof Recorded)[];
  return Object.fromEntries(names.map((name) => [name, event[name]])) as Expected;
}

/**
 * Reads a log as it grows: each call of `next` returns the events since the call before; the first one returns all. No
 * reader stays open in between.
 */
export function followLog(data: string): { next: () => Recorded[]; close: () => void } {
  const db = new Database(join(data, 'log.db'), { readonly: true });
  const select = db
    .prepare<[position: number], [header: string, body: string | Buffer | null]>(
      'SELECT header, body FROM headers LEFT JOIN payloads USING (position) WHERE position > ? ORDER BY position',
    )
    .raw();
  let last = 0;
  function next(): Recorded[] {
    const events = select.all(last).map(([header, body]) => {
      const { id, position, stream, type, actor, correlationId } = JSON.parse(header) as Header;
      const data = body === null ? {} : { data: JSON.parse(String(body)).data };
      return { id, position, stream, type: type as EventType, ...data, actor, correlationId };
    });
    last = events.at(-1)?.position ?? last;
    return events;
  }
  return { next, close: () => db.close() };
}

/** The ids of the requests whose calls were answered, each with its place among all. */
const answered = new Map<string, number>();

/** The events of a refused login. */
const ofFailedLogin = /^(login\.failed|account\.locked)$/;

/**
 * Asserts that a request recorded nothing if its answer is a refusal, or repeats the answer to an earlier write. The
 * events of the request are found by their correlation id, whatever else is written at the same time.
 *
 * @param request method and path, as `POST /api/collections/posts`.
 */
export function assertRefusalRecordsNothing(data: string, request: string, { status, headers }: Answer): void {
  const id = headers.get('x-request-id');
  if (id === null) return;
  if (!answered.has(id)) answered.set(id, answered.size);
  const isRefusal = status >= 400 && status < 500;
  if (!isRefusal && headers.get('idempotent-replayed') !== 'true') return;
  // Several sites have a log each, in folders of their own.
  if (!existsSync(join(data, 'log.db'))) return;
  const [path = ''] = request.split('?');
  const types = recordedBy(data, id).filter((type) => !(path.endsWith('/login') && ofFailedLogin.test(type)));
  assert.deepEqual(types, [], `${request} answered ${status}, and recorded this`);
}

/** The types of the events that a request has just recorded, by its id. */
function recordedBy(data: string, id: string): string[] {
  const db = new Database(join(data, 'log.db'), { readonly: true });
  try {
    const newest = '(SELECT header FROM headers ORDER BY position DESC LIMIT 200)';
    const select = db.prepare<[id: string], string>(`SELECT header FROM ${newest} WHERE instr(header, ?) > 0`).pluck();
    return select.all(`"correlationId":${JSON.stringify(id)}`).map((header) => (JSON.parse(header) as Header).type);
  } finally {
    db.close();
  }
}
