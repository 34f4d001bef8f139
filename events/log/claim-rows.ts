import type { Sqlite } from '../../storage/sqlite.ts';
import type { Claim, Outcome } from '../facts/log.ts';
import { BrokenLogError } from '../store/log-file.ts';
import type { LogReader } from './log-reader.ts';
import type { ShippedClaim } from './shipment.ts';

/** A unique value, and the stream that holds it. */
type ClaimRow = Pick<ShippedClaim, 'scope' | 'value' | 'stream'>;

/** Writes the table of unique values of a log; every call inside a transaction of the caller's. */
export function openClaims(db: Sqlite, holderOf: LogReader['holderOf']) {
  const insert = db.prepare('INSERT INTO claims VALUES (?, ?, ?)');
  const remove = db.prepare('DELETE FROM claims WHERE scope = ? AND value = ? AND stream = ?');

  /** The conflict over the first value that is taken or claimed twice; null if all are free. */
  function conflictOver(claims: readonly Claim[]): Outcome | null {
    const claimed = new Set<string>();
    const taken = claims.find(({ scope, value, former }) => {
      const known = claimed.size;
      const isSecond = claimed.add(`${scope}\n${value}`).size === known;
      return isSecond || holderOf(scope, value) !== null || (former && holderOf(scope, former) !== null);
    });
    return taken ? { ok: false, conflict: 'claim', claim: taken } : null;
  }

  function take(stream: string, claims: readonly Claim[]): void {
    for (const { scope, value } of claims) insert.run(scope, value, stream);
  }

  /** @returns each value as the stream held it. @throws BrokenLogError if the stream does not hold a value. */
  function release(stream: string, claims: readonly Claim[]): Claim[] {
    return claims.map(({ scope, value, former }) => {
      const held = [value, former].find((text) => text && remove.run(scope, text, stream).changes === 1);
      if (held === undefined) throw new BrokenLogError(`stream ${stream} does not hold its value of ${scope}`);
      return { scope, value: held };
    });
  }

  /**
   * Replaces all claims by these. Of two streams with one value, the second holds it under its former text.
   */
  function replaceAll(claims: Iterable<{ claim: Claim; stream: string }>): void {
    db.exec('DELETE FROM claims');
    for (const { claim, stream } of claims) {
      const { scope, value, former } = claim;
      insert.run(scope, former && holderOf(scope, value) !== null ? former : value, stream);
    }
  }

  /** Replaces all claims as {@link replaceAll}. @returns the claims that are gone, then the new ones. */
  function exchangeAll(claims: Iterable<{ claim: Claim; stream: string }>): Omit<ShippedClaim, 'position'>[] {
    db.exec('CREATE TEMP TABLE former_claims AS SELECT scope, value, stream FROM claims');
    replaceAll(claims);
    const between = (one: string, other: string, isTaken: boolean) =>
      db
        .prepare<[], ClaimRow>(
          `SELECT scope, value, stream FROM ${one} EXCEPT SELECT scope, value, stream FROM ${other}`,
        )
        .all()
        .map((row) => ({ ...row, isTaken }));
    const changes = [...between('former_claims', 'claims', false), ...between('claims', 'former_claims', true)];
    db.exec('DROP TABLE former_claims');
    return changes;
  }

  return { conflictOver, take, release, replaceAll, exchangeAll };
}
