import { setTimeout as wait } from 'node:timers/promises';
import { isObject, type Json } from '../../config/schema.ts';
import { CallError } from '../errors.ts';
import { problemsIn } from '../operator-connection.ts';
import { RowError } from './documents.ts';
import type { Importing } from './importing.ts';
import type { WriteResult } from './row-writer.ts';
import { type Ask, type Calls, FailedError } from './service.ts';

/** A call that writes many documents: `text` is its body, `key` its idempotency key. */
type BulkCall = { path: string; text: string; reason: string; key?: string };

/** Milliseconds for the answer: the hooks of the documents run one after the other. */
const patience = 600_000;
/** A service that cannot write any more ends itself in this time. */
const pauseMilliseconds = 1000;

/**
 * Makes a bulk call.
 *
 * @returns the result of each document, in their order. If the call is refused, null, or a RowError if its key was used
 *   for another call; then nothing was written.
 * @throws CallError if the service fails, and may have written.
 */
export async function makeCall(calls: Calls, call: BulkCall): Promise<WriteResult[] | RowError | null> {
  const ask: Ask = { method: 'POST', patience, ...call };
  const answered = await askTwice(calls, ask);
  if (!answered) return null;
  const { status, body } = answered;
  if (status === 422) return new RowError(problemsIn(body).join('\n'));
  return status < 300 ? resultsIn(body.results) : null;
}

/** Null if the service failed both times. If the first call was carried out, the second one gets its answer. */
async function askTwice(calls: Calls, ask: Ask) {
  const askOnce = () =>
    calls.ask(ask).catch((error: unknown) => {
      if (error instanceof FailedError) return null;
      throw error;
    });
  const answered = await askOnce();
  if (answered) return answered;
  await wait(pauseMilliseconds);
  return askOnce();
}

function resultsIn(results: Json | undefined): WriteResult[] {
  if (!Array.isArray(results)) throw new CallError('the service answered with no results');
  return results.map((result) => {
    const { id, outcome = 'created' } = isObject(result) ? result : {};
    if (typeof id !== 'string') throw new CallError('the service answered with no document');
    return { id, outcome: outcome as WriteResult['outcome'] };
  });
}

/**
 * Makes the call again that an earlier run was making when it ended, as it was. If it is refused, its rows are written
 * one by one.
 *
 * @returns the keys of the rows that are done by it.
 * @throws CallError when the service fails.
 */
export async function finishCall({ calls, state, counts, isDryRun }: Importing): Promise<ReadonlySet<string>> {
  const finished = new Set<string>();
  const kept = isDryRun ? null : state?.begun();
  if (!state || !kept) return finished;
  const { rows, import: _import, ...call } = kept;
  const written = await makeCall(calls, call);
  if (written === null) state.split(rows);
  else for (const { key } of state.end(rows, written)) finished.add(key);
  counts.created += finished.size;
  return finished;
}
