import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type LogReader, readLog } from '../../../events/log/log-reader.ts';
import { readCheckpoints } from '../../../events/proof/checkpoints.ts';
import type { TreeHead } from '../../../events/proof/proofs.ts';
import { isSealed } from '../../../events/proof/seals.ts';
import type { Finding, SeenHead, Trouble } from '../../../events/proof/seen-heads.ts';
import { refuseOffloaded } from '../../../events/segments/offloaded.ts';
import { segmentFolder } from '../../../events/segments/segments.ts';
import { BrokenLogError, unsealed } from '../../../events/store/log-file.ts';
import type { KnownKey } from '../../../events/vault/key-replacement.ts';
import { verifyInSteps } from '../../../events/verify/verify.ts';
import { openTableChecks, type TableChecks } from '../../../projections/verify/verify-tables.ts';
import { messageOf } from '../../../storage/errors.ts';
import { isDamage, openDatabase, type Sqlite } from '../../../storage/sqlite.ts';
import { parent } from '../../platform/parent.ts';
import { stepBack } from '../../platform/priority.ts';
import { checkNote, misplaced, trustedKeys } from './checkpoint-checks.ts';
import { disowningsOf } from './keys.ts';

/** A log to go through. `percent`: how much of one core that may take. */
export type VerifierJob = { file: string; known: VaultKnowledge; percent: number };

/** Messages to the thread that checks logs. */
export type VerifierOrder = { kind: 'look'; id: number; job: VerifierJob } | { kind: 'stop'; id: number };

/**
 * The result of a job. `to`: the position up to which the log was checked; `trouble`: the finding about the log;
 * `tables`: the finding about its claims and its read tables, which are checked if the log is sound.
 */
export type JobResult = { to: number; trouble: Trouble | null; tables: Finding | null };
export type VerifierMessage = { id: number } & ({ looked: JobResult } | { stopped: true } | { failure: string });

const sliceMilliseconds = 5;

const main = parent();
const asked = new Map<number, AbortController>();
let running: number | null = null;
let last: Promise<void> = Promise.resolve();

// The lowest priority: no request waits for it.
stepBack(19);

main.on('message', (order: VerifierOrder) => {
  if (order.kind === 'stop') {
    asked.get(order.id)?.abort();
    return;
  }
  const { id, job } = order;
  const stop = new AbortController();
  asked.set(id, stop);
  // One that has not begun has no file open, and need not wait for those before it.
  const say = (message: VerifierMessage) => {
    if (asked.delete(id)) main.postMessage(message);
  };
  stop.signal.addEventListener('abort', () => running !== id && say({ id, stopped: true }));
  // One log after the other: together they take no more than one.
  last = last.then(async () => {
    running = id;
    say(await answer(id, job, stop.signal));
  });
});

async function answer(id: number, job: VerifierJob, signal: AbortSignal): Promise<VerifierMessage> {
  try {
    const looked = await look(job, signal);
    return looked ? { id, looked } : { id, stopped: true };
  } catch (error) {
    return { id, failure: messageOf(error) };
  }
}

/** Works for some milliseconds, then rests for as long as the share asks for. No read lasts longer than a step. */
async function look({ file, known, percent }: VerifierJob, signal: AbortSignal): Promise<JobResult | null> {
  if (signal.aborted) return null;
  // It goes round all day: to fetch them each time would cost more than they are worth. "annals verify" does.
  refuseOffloaded(segmentFolder(file));
  const db = openDatabase(file, { readonly: true, cacheMiB: 4 });
  let to = 0;
  let checks: TableChecks | null = null;
  try {
    const log = readLog(db);
    checks = openTableChecks(dirname(file), db, log);
    const steps = lookThrough(db, { log, known, checks });
    for (let since = performance.now(); ; ) {
      const step = steps.next();
      if (step.done) return { to, ...step.value };
      to = Math.max(to, step.value);
      const worked = performance.now() - since;
      if (worked < sliceMilliseconds) continue;
      await setTimeout(worked * (100 / percent - 1), undefined, { signal }).catch(() => {});
      if (signal.aborted) return null;
      since = performance.now();
    }
  } catch (error) {
    if (error instanceof BrokenLogError) return { to, ...found(error.message) };
    if (!isDamage(error)) throw error;
    return { to, ...found(`log.db is damaged: ${messageOf(error)}`) };
  } finally {
    checks?.close();
    db.close();
  }
}

/**
 * The vault's knowledge of a log: its keys, the ids of the disowned ones, the last head that its key has signed, and
 * the key that seals its head.
 */
type VaultKnowledge = {
  keys: readonly KnownKey[];
  disowned: ReadonlySet<string>;
  signed: TreeHead | null;
  sealKey: string;
};

type JobFindings = Pick<JobResult, 'trouble' | 'tables'>;

type Parts = { log: LogReader; known: VaultKnowledge; checks: TableChecks | null };

/**
 * Goes through a log in steps: compares it with the checkpoints in it and with what its key has signed, and its head
 * with the seal; then checks claims and read tables. Each step is a read of some microseconds, and yields the position
 * that was reached.
 */
function* lookThrough(db: Sqlite, { log, known, checks }: Parts): Generator<number, JobFindings> {
  const { keys, disowned, signed, sealKey } = known;
  const { log: logId } = log.head();
  const trust = trustedKeys(keys, disowningsOf(log, keys, disowned).ids);
  const seen: SeenHead[] = [];
  // Passed between threads, a Buffer becomes a Uint8Array.
  if (signed) seen.push({ name: 'the signing key', size: signed.size, root: Buffer.from(signed.root) });
  for (const { size, note } of [...readCheckpoints(db).all()]) {
    const name = `the checkpoint of position ${size}`;
    const outcome = checkNote(logId, trust, { name, note });
    const finding = 'finding' in outcome ? outcome.finding : misplaced(name, outcome.head, size);
    if (finding !== null) return found(finding);
    if ('verdict' in outcome && outcome.verdict === 'sound') seen.push({ name, ...outcome.head });
    yield 0;
  }
  seen.sort((a, b) => a.size - b.size);
  // After the checkpoints, since the log may grow between the two reads.
  const head = log.head();
  const trouble = yield* verifyInSteps(db, head, { seen, look: (header) => checks?.look(header) });
  if (trouble) return { trouble, tables: null };
  // At last, for what else is found names the events.
  if (!isSealed(sealKey, head)) return found(unsealed(true));
  if (!checks) return { trouble: null, tables: null };
  const rest = checks.rest();
  for (let step = rest.next(); ; step = rest.next()) {
    if (step.done) return { trouble: null, tables: step.value };
    yield 0;
  }
}

function found(finding: Finding): JobFindings {
  return { trouble: { finding, from: null, to: null }, tables: null };
}
