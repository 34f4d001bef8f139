import type { Sqlite } from '../../storage/sqlite.ts';
import { freeAmong } from '../facts/claims.ts';
import type { Change, Claim, Outcome } from '../facts/log.ts';
import { BrokenLogError } from '../store/log-file.ts';
import type { LogReader } from './log-reader.ts';
import type { ShippedClaim } from './shipment.ts';

/** A unique value, and the stream that holds it. */
type ClaimRow = Pick<ShippedClaim, 'scope' | 'value' | 'stream'>;

/** Writes the table of unique values of a log; every call inside a transaction of the caller's. */
export function openClaims(db: Sqlite, holderOf: LogReader['holderOf']) {
  const insert = db.prepare('INSERT INTO claims VALUES (?, ?, ?)');
  const remove = db.prepare('DELETE FROM claims WHERE scope = ? AND value = ? AND stream = ?');

  /**
   * The conflict of the changes of one command over the first value that they claim twice, or that another stream
   * keeps; null for none.
   */
  function conflictOver(changes: readonly Change[]): Outcome | null {
    const claimed = new Set<string>();
    const isFree = freeAmong(changes, holderOf);
    for (const { claims } of changes) {
      const taken = claims.find(({ scope, value, former }) => {
        const known = claimed.size;
        const isSecond = claimed.add(`${scope}\n${value}`).size === known;
        return isSecond || !isFree(scope, value) || (former !== undefined && !isFree(scope, former));
      });
      if (taken) return { ok: false, conflict: 'claim', claim: taken };
    }
    return null;
  }

  /**
   * Gives up all values of the changes of one command, then takes all that they claim, so that one may take what a
   * later one gives up.
   *
   * @returns the changes of claims, in this order. @throws BrokenLogError if a stream does not hold a value.
   */
  function exchange(changes: readonly Change[]): Omit<ShippedClaim, 'position'>[] {
    const done: Omit<ShippedClaim, 'position'>[] = [];
    for (const { stream, releases } of changes) {
      for (const { scope, value } of release(stream, releases)) done.push({ stream, scope, value, isTaken: false });
    }
    for (const { stream, claims } of changes) {
      for (const { scope, value } of claims) {
        insert.run(scope, value, stream);
        done.push({ stream, scope, value, isTaken: true });
      }
    }
    return done;
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

  return { conflictOver, exchange, replaceAll, exchangeAll };
}
