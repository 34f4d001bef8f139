import type { Sqlite } from '../storage/sqlite.ts';
import type { Claim, Outcome } from './log.ts';
import { BrokenLogError } from './log-file.ts';

type HolderOf = (scope: string, value: string) => string | null;

/** The table of unique values, for the writer of a log: every call inside a transaction of the caller's. */
export function openClaims(db: Sqlite, holderOf: HolderOf) {
  const insert = db.prepare('INSERT INTO claims VALUES (?, ?, ?)');
  const remove = db.prepare('DELETE FROM claims WHERE scope = ? AND value = ? AND stream = ?');

  /** The conflict over the first value that is taken, or that is claimed twice; null when all are free. */
  function conflictOver(claims: readonly Claim[]): Outcome | null {
    const taken = claims.find(({ scope, value, former }, index) => {
      const first = claims.findIndex((other) => other.scope === scope && other.value === value);
      return first < index || holderOf(scope, value) !== null || (former && holderOf(scope, former) !== null);
    });
    return taken ? { ok: false, conflict: 'claim', claim: taken } : null;
  }

  function take(stream: string, claims: readonly Claim[]): void {
    for (const { scope, value } of claims) insert.run(scope, value, stream);
  }

  /** @throws BrokenLogError when the stream does not hold one of the values. */
  function release(stream: string, claims: readonly Claim[]): void {
    for (const { scope, value, former } of claims) {
      const isReleased = [value, former].some((text) => text && remove.run(scope, text, stream).changes === 1);
      if (!isReleased) throw new BrokenLogError(`stream ${stream} does not hold its value of ${scope}`);
    }
  }

  /** Puts these in the place of all claims. Of two streams with one value, the second holds it under its former text. */
  function replaceAll(claims: Iterable<{ claim: Claim; stream: string }>): void {
    db.exec('DELETE FROM claims');
    for (const { claim, stream } of claims) {
      const { scope, value, former } = claim;
      insert.run(scope, former && holderOf(scope, value) !== null ? former : value, stream);
    }
  }

  return { conflictOver, take, release, replaceAll };
}
