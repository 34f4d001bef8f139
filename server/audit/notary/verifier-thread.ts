import { setTimeout } from 'node:timers/promises';
import { BrokenLogError } from '../../../events/log-file.ts';
import type { Trouble } from '../../../events/seen-heads.ts';
import { messageOf } from '../../../storage/errors.ts';
import { isDamage, openDatabase } from '../../../storage/sqlite.ts';
import { parent } from '../../platform/parent.ts';
import { stepBack } from '../../platform/priority.ts';
import { type Known, lookThrough } from './looking.ts';

/** A log to go through. `percent`: how much of one core that may take. */
export type Job = { file: string; known: Known; percent: number };

/** Messages to the thread that checks logs. */
export type VerifierOrder = { kind: 'look'; id: number; job: Job } | { kind: 'stop'; id: number };

/** The result of a job: the position up to which the log was checked, and the finding; or why it was not done. */
export type Looked = { to: number; trouble: Trouble | null };
export type VerifierMessage = { id: number } & ({ looked: Looked } | { stopped: true } | { failure: string });

const sliceMilliseconds = 5;

const main = parent();
const asked = new Map<number, AbortController>();
let running: number | null = null;
let last: Promise<void> = Promise.resolve();

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

async function answer(id: number, job: Job, signal: AbortSignal): Promise<VerifierMessage> {
  try {
    const looked = await look(job, signal);
    return looked ? { id, looked } : { id, stopped: true };
  } catch (error) {
    return { id, failure: messageOf(error) };
  }
}

/** Works for some milliseconds, then rests for as long as the share asks for. No read lasts longer than a step. */
async function look({ file, known, percent }: Job, signal: AbortSignal): Promise<Looked | null> {
  if (signal.aborted) return null;
  const db = openDatabase(file, { readonly: true, cacheMiB: 4 });
  let to = 0;
  try {
    const steps = lookThrough(db, known);
    for (let since = performance.now(); ; ) {
      const step = steps.next();
      if (step.done) return { to, trouble: step.value };
      to = step.value;
      const worked = performance.now() - since;
      if (worked < sliceMilliseconds) continue;
      await setTimeout(worked * (100 / percent - 1), undefined, { signal }).catch(() => {});
      if (signal.aborted) return null;
      since = performance.now();
    }
  } catch (error) {
    if (error instanceof BrokenLogError) return { to, trouble: { finding: error.message, from: null, to: null } };
    if (!isDamage(error)) throw error;
    return { to, trouble: { finding: `log.db is damaged: ${messageOf(error)}`, from: null, to: null } };
  } finally {
    db.close();
  }
}

// The lowest priority: no request waits for it.
stepBack(19);
