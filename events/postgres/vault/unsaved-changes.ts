import { hasRoom, type Room } from '../../vault/previews.ts';
import { isExpected, type Kept, type OwnDraft, ownersOf, type Removed } from '../../vault/unsaved-changes.ts';
import type { VaultPort } from '../../vault/vault-port.ts';
import { lockOf, numberedUpTo, type VaultRows } from './running.ts';

const columns = 'target, revision, version, title, updated_at AS "updatedAt"';
const room = 'count(*) AS count, coalesce(sum(size), 0)::bigint AS bytes';

/** Drafts that users keep, as {@link VaultPort} has them. */
export function openOwnDrafts({ log, read, write, change }: VaultRows): VaultPort['ownDrafts'] {
  const one = 'FROM annals_vault.own_drafts WHERE log = $1 AND owner = $2 AND target = $3';
  const selection = (owner: string, target: string, since: number) => ({
    text: `SELECT ${columns} ${one} AND updated_at > $4`,
    values: [log, owner, target, since],
  });
  const deletion = (owner: string, target: string) => ({ text: `DELETE ${one}`, values: [log, owner, target] });

  return {
    keep({ expected, adminCollection, ...draft }, { user, others, all, lifetime }, now) {
      const { owner, target, version, title, data } = draft;
      const since = now - lifetime;
      const size = Buffer.byteLength(data) + Buffer.byteLength(title);
      const added = { count: 1, bytes: size };
      const rest = `SELECT ${room} FROM annals_vault.own_drafts WHERE log = $1 AND`;
      const prefix = ownersOf(adminCollection);
      const outside = {
        text: `${rest} NOT starts_with(owner, $4) AND NOT (owner = $2 AND target = $3)`,
        values: [log, owner, target, prefix],
      };
      return change<Kept>(
        [
          lockOf(log, 'own-drafts'),
          selection(owner, target, since),
          { text: `${rest} owner = $2 AND target <> $3 AND updated_at > $4`, values: [log, owner, target, since] },
          { text: `${rest} NOT (owner = $2 AND target = $3)`, values: [log, owner, target] },
          ...(owner.startsWith(prefix) ? [] : [outside]),
        ],
        ([lock, before, ofUser, ofAll, ofOthers]) => {
          if (!isExpected(before?.[0], expected)) return { statements: [], value: { kind: 'stale' } };
          const own: Room = ofUser?.[0];
          if (!hasRoom(own, added, user)) return { statements: [], value: { kind: 'full', of: 'user', ...own } };
          const outsiders: Room | undefined = ofOthers?.[0];
          if (outsiders && !hasRoom(outsiders, added, others))
            return { statements: [], value: { kind: 'full', of: 'others', ...outsiders } };
          const everyone: Room = ofAll?.[0];
          if (!hasRoom(everyone, added, all))
            return { statements: [], value: { kind: 'full', of: 'all', ...everyone } };
          const revision: number = lock?.[0].last + 1;
          const insertion = {
            text: `INSERT INTO annals_vault.own_drafts (log, owner, target, revision, version, size, updated_at, title, data)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
            values: [log, owner, target, revision, version, size, now, title, data],
          };
          return {
            statements: [deletion(owner, target), insertion, numberedUpTo(log, 'own-drafts', revision)],
            value: { kind: 'kept', draft: { target, revision, version, title, updatedAt: now } },
          };
        },
      );
    },
    async get(owner, target, since) {
      const { text, values } = selection(owner, target, since);
      const [row] = await read({ text: text.replace(' FROM', ', data FROM'), values });
      return row ?? null;
    },
    all: (owner, since) =>
      read({
        text: `SELECT ${columns} FROM annals_vault.own_drafts WHERE log = $1 AND owner = $2 AND updated_at > $3
               ORDER BY updated_at DESC, revision DESC`,
        values: [log, owner, since],
      }),
    remove: (owner, target, { expected, since }) =>
      change<Removed>([lockOf(log, 'own-drafts'), selection(owner, target, since)], ([, found]) => {
        const before: OwnDraft | undefined = found?.[0];
        if (!before) return { statements: [], value: { kind: 'none' } };
        if (!isExpected(before, expected)) return { statements: [], value: { kind: 'stale' } };
        return { statements: [deletion(owner, target)], value: { kind: 'removed', draft: before } };
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
