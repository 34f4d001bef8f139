import { readCheckpoints } from '../../../events/checkpoints.ts';
import { unsealed } from '../../../events/log-file.ts';
import type { KnownKey } from '../../../events/log-keys.ts';
import { readLog } from '../../../events/log-reader.ts';
import type { TreeHead } from '../../../events/proofs.ts';
import { isSealed } from '../../../events/seals.ts';
import type { Finding, SeenHead, Trouble } from '../../../events/seen-heads.ts';
import { verifyInSteps } from '../../../events/verify.ts';
import type { Sqlite } from '../../../storage/sqlite.ts';
import { checkNote, misplaced, trustedKeys } from './checkpoint-checks.ts';
import { disowningsOf } from './keys.ts';

/**
 * The vault's knowledge of a log: its keys, the ids of those that it says are disowned, the last head that its key has signed, and the
 * key that its head is sealed with.
 */
export type Known = {
  keys: readonly KnownKey[];
  disowned: ReadonlySet<string>;
  signed: TreeHead | null;
  sealKey: string;
};

/**
 * Goes through a log in steps, and holds it against the checkpoints that it keeps, against what its key has signed, and its head
 * against the seal. Each step is a read of its own, of some microseconds; it gives the position that was reached.
 */
export function* lookThrough(
  db: Sqlite,
  { keys, disowned, signed, sealKey }: Known,
): Generator<number, Trouble | null> {
  const log = readLog(db);
  const { log: logId } = log.head();
  const trust = trustedKeys(keys, disowningsOf(log, keys, disowned).ids);
  const seen: SeenHead[] = [];
  // Passed between threads, a Buffer becomes a Uint8Array.
  if (signed) seen.push({ name: 'the signing key', size: signed.size, root: Buffer.from(signed.root) });
  for (const { size, note } of [...readCheckpoints(db).all()]) {
    const name = `the checkpoint of position ${size}`;
    const outcome = checkNote(logId, trust, { name, note });
    const finding = 'finding' in outcome ? outcome.finding : misplaced(name, outcome.head, size);
    if (finding !== null) return trouble(finding);
    if ('verdict' in outcome && outcome.verdict === 'sound') seen.push({ name, ...outcome.head });
    yield 0;
  }
  // After the checkpoints, since the log may grow between the two reads.
  const head = log.head();
  const found = yield* verifyInSteps(
    db,
    head,
    seen.sort((a, b) => a.size - b.size),
  );
  // At last, for what else is found names the events.
  return found ?? (isSealed(sealKey, head) ? null : trouble(unsealed(true)));
}

function trouble(finding: Finding): Trouble {
  return { finding, from: null, to: null };
}
