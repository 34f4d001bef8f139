import assert from 'node:assert/strict';
import { type OpenApi, operationsOf } from '../helpers/contract.ts';
import { followLog, type Recorded } from '../helpers/recorded.ts';
import type { Answer } from '../helpers/service.ts';

/**
 * The events that calls of operations record, by the key that `keyOf` gives; a GET without an entry records nothing.
 */
export type Records = {
  keyOf: (operation: string) => string;
  /**
   * The types of the events of a call that succeeds, in their order. Some call of each operation must have recorded the
   * first of these; the others come with other bodies, and `''` is no event.
   */
  succeeds: Readonly<Record<string, readonly [string, ...string[]]>>;
  /** The types of the events of a call with an answer from 400 on; by default such a call records nothing. */
  refused?: (operation: string, status: number) => readonly string[];
  /** The stream of an event, as far as the operation tells it. */
  streamOf: (operation: string, type: string) => string;
};

/** A call and its answer, in short. The log is read at the end, since some events are recorded after the answer. */
export type NotedCall = { operation: string; status: number; id: string; isReplayed: boolean; isRecorded: boolean };

/** A call as {@link assertAllRecorded} wants it. */
export function noted(operation: string, { status, headers, body }: Answer): NotedCall {
  const isReplayed = headers.get('idempotent-replayed') === 'true';
  // A full disk may leave room for an event and none for the row that shows it.
  const isRecorded = status === 503 && String(body?.message).startsWith('the change was recorded, but');
  return { operation, status, id: headers.get('x-request-id') ?? 'of no request', isReplayed, isRecorded };
}

/**
 * Asserts that each call recorded the events that the table names for it and nothing else, and that each operation of a
 * document but the GETs has recorded something, if the table names an event.
 *
 * @returns the events that none of the calls has recorded.
 */
export function assertAllRecorded(
  data: string,
  document: OpenApi,
  calls: readonly NotedCall[],
  records: Records,
): Recorded[] {
  const log = followLog(data);
  const events = Map.groupBy(log.next(), ({ correlationId }) => correlationId);
  log.close();
  const met = new Set<string>();
  const problems = new Set<string>();
  for (const { operation, status, id, isReplayed, isRecorded } of calls) {
    const found = events.get(id) ?? [];
    events.delete(id);
    const types = found.map(({ type }) => type).join(' ');
    const allowed = isReplayed ? [''] : allowedOf(records, operation, isRecorded ? 200 : status);
    if (!allowed.includes(types)) problems.add(`${operation} answered ${status}, and recorded "${types}"`);
    for (const { type, stream } of found) {
      const wanted = records.streamOf(operation, type);
      if (!`${stream}/`.startsWith(wanted))
        problems.add(`${operation} recorded ${type} in ${stream}, not in ${wanted}`);
    }
    if (status < 400) met.add(`${operation}: ${types}`);
  }
  for (const operation of operationsOf(document).filter((one) => !one.startsWith('GET '))) {
    const [first] = allowedOf(records, operation, 200);
    if (!met.has(`${operation}: ${first}`)) problems.add(`${operation} has never recorded "${first}"`);
  }
  assert.deepEqual([...problems], []);
  return [...events.values()].flat();
}

function allowedOf(
  { keyOf, succeeds, refused = () => [''] }: Records,
  operation: string,
  status: number,
): readonly string[] {
  const key = keyOf(operation);
  if (status >= 400) return refused(operation, status);
  if (succeeds[key]) return succeeds[key];
  assert.ok(operation.startsWith('GET '), `test/contract/ does not say what ${operation} records`);
  return [''];
}
