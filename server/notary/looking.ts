import { readCheckpoints } from '../../events/checkpoints.ts';
import type { KnownKey } from '../../events/log-keys.ts';
import { readLog } from '../../events/log-reader.ts';
import type { TreeHead } from '../../events/proofs.ts';
import { type Trouble, verifyInSteps } from '../../events/verify.ts';
import type { Witness } from '../../events/witnesses.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { disowningsOf } from './keys.ts';
import { hear, judgesOf } from './witnesses.ts';

/** What the vault knows of a log: its keys, the ids of those that it says are disowned, and what its key has signed last. */
export type Known = { keys: readonly KnownKey[]; disowned: ReadonlySet<string>; signed: TreeHead | null };

/**
 * Goes through a log in steps, and holds it against the checkpoints that it keeps and against what its key has signed. Each step is
 * a read of its own, of some microseconds; it gives the position that was reached.
 */
export function* lookThrough(db: Sqlite, { keys, disowned, signed }: Known): Generator<number, Trouble | null> {
  const log = readLog(db);
  const { log: logId } = log.head();
  const judges = judgesOf(keys, disowningsOf(log, keys, disowned).ids);
  const seen: Witness[] = [];
  // A root that came from another thread is no Buffer any more.
  if (signed) seen.push({ name: 'the signing key', size: signed.size, root: Buffer.from(signed.root) });
  for (const { size, note } of [...readCheckpoints(db).all()]) {
    const name = `the checkpoint of position ${size}`;
    const heard = hear(logId, judges, name, note);
    if ('finding' in heard) return { finding: heard.finding, from: null, to: null };
    if (heard.verdict === 'sound') seen.push({ name, ...heard.head });
    yield 0;
  }
  return yield* verifyInSteps(
    db,
    seen.sort((a, b) => a.size - b.size),
  );
}
