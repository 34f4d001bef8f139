import type { PostgresStatement } from '../../../storage/postgres/connection.ts';
import {
  decideRemoval,
  isOutside,
  type KeepResult,
  type NewUnsavedChange,
  ownersOf,
  type RemoveResult,
  refusalOf,
  sizeOf,
  type UnsavedQuotas,
} from '../../vault/unsaved-changes.ts';
import type { VaultPort } from '../../vault/vault-port.ts';
import { lockOf, numberedUpTo, type VaultRows } from './rows.ts';

const columns = 'target, revision, version, title, updated_at AS "updatedAt"';
const one = 'FROM annals_vault.own_drafts WHERE log = $1 AND owner = $2 AND target = $3';

/** The unsaved changes of users, as {@link VaultPort} has them. */
export function openUnsavedChanges(rows: VaultRows): VaultPort['unsavedChanges'] {
  const { log, read, write, change } = rows;
  return {
    keep: (kept, quotas, now) => keep(rows, kept, { quotas, now }),
    async get(owner, target, since) {
      const [row] = await read({
        text: `SELECT ${columns}, data ${one} AND updated_at > $4`,
        values: [log, owner, target, since],
      });
      return row ?? null;
    },
    all: (owner, since) =>
      read({
        text: `SELECT ${columns} FROM annals_vault.own_drafts WHERE log = $1 AND owner = $2 AND updated_at > $3
               ORDER BY updated_at DESC, revision DESC`,
        values: [log, owner, since],
      }),
    remove: (owner, target, { expected, since }) =>
      change<RemoveResult>([lockOf(log, 'own-drafts'), selection(log, { owner, target }, since)], ([, found]) => {
        const result = decideRemoval(found?.[0], expected);
        return { statements: result.kind === 'removed' ? [deletion(log, { owner, target })] : [], value: result };
      }),
    async forget(stream) {
      await write({
        text: 'DELETE FROM annals_vault.own_drafts WHERE log = $1 AND (target = $2 OR owner = $2)',
        values: [log, stream],
      });
    },
    async purge(before, now) {
      const [, removed] = await write(
        {
          text: 'UPDATE annals_vault.own_drafts SET updated_at = $2 WHERE log = $1 AND updated_at > $2',
          values: [log, now],
        },
        {
          text: `DELETE FROM annals_vault.own_drafts WHERE log = $1 AND revision IN (
                   SELECT revision FROM annals_vault.own_drafts WHERE log = $1 AND updated_at <= $2 LIMIT 20
                 )`,
          values: [log, before],
        },
      );
      return (removed?.rowCount ?? 0) > 0;
    },
    leaveNoTrace: async () => {},
  };
}

function keep(
  { log, change }: VaultRows,
  kept: NewUnsavedChange,
  { quotas, now }: { quotas: UnsavedQuotas; now: number },
): Promise<KeepResult> {
  const { owner, target, version, title, data, adminCollection } = kept;
  const since = now - quotas.lifetime;
  const usage = `SELECT count(*) AS count, coalesce(sum(size), 0)::bigint AS bytes FROM annals_vault.own_drafts
                 WHERE log = $1 AND`;
  const outside = {
    text: `${usage} NOT starts_with(owner, $4) AND NOT (owner = $2 AND target = $3)`,
    values: [log, owner, target, ownersOf(adminCollection)],
  };
  const reads = [
    lockOf(log, 'own-drafts'),
    selection(log, kept, since),
    { text: `${usage} owner = $2 AND target <> $3 AND updated_at > $4`, values: [log, owner, target, since] },
    { text: `${usage} NOT (owner = $2 AND target = $3)`, values: [log, owner, target] },
    ...(isOutside(kept) ? [outside] : []),
  ];
  return change<KeepResult>(reads, ([lock, before, ofUser, ofAll, ofOthers]) => {
    const found = { before: before?.[0], user: ofUser?.[0], others: ofOthers?.[0] ?? null, all: ofAll?.[0] };
    const refused = refusalOf(kept, quotas, found);
    if (refused) return { statements: [], value: refused };
    const revision: number = lock?.[0].last + 1;
    const insertion = {
      text: `INSERT INTO annals_vault.own_drafts (log, owner, target, revision, version, size, updated_at, title, data)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      values: [log, owner, target, revision, version, sizeOf(kept), now, title, data],
    };
    return {
      statements: [deletion(log, kept), insertion, numberedUpTo(log, 'own-drafts', revision)],
      value: { kind: 'kept', change: { target, revision, version, title, updatedAt: now } },
    };
  });
}

type OfOwner = { owner: string; target: string };

function selection(log: number, { owner, target }: OfOwner, since: number): PostgresStatement {
  return { text: `SELECT ${columns} ${one} AND updated_at > $4`, values: [log, owner, target, since] };
}

function deletion(log: number, { owner, target }: OfOwner): PostgresStatement {
  return { text: `DELETE ${one}`, values: [log, owner, target] };
}
