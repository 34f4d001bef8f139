import { bytesAtOnce, bytesOf, type Draft, hasRoom, type Kept, otherCallers, tooMany } from '../../vault/previews.ts';
import type { VaultPort } from '../../vault/vault-port.ts';
import { lockOf, numberedUpTo, type VaultRows } from './running.ts';

const room =
  'SELECT count(*) AS count, coalesce(sum(size), 0)::bigint AS bytes FROM annals_vault.drafts WHERE log = $1';

/**
 * Drafts of previews, as {@link VaultPort} has them. Deleted rows stay in the files of the server until it cleans them.
 */
export function openDrafts({ log, read, write, change }: VaultRows): VaultPort['drafts'] {
  return {
    keep: (draft, { own, all, others }) =>
      change(
        [
          lockOf(log, 'drafts'),
          {
            text: 'SELECT number, size FROM annals_vault.drafts WHERE log = $1 AND caller = $2 ORDER BY number',
            values: [log, draft.caller],
          },
          { text: room, values: [log] },
          { text: `${room} AND starts_with(caller, $2)`, values: [log, otherCallers] },
        ],
        ([lock, kept = [], inAll, ofOthers]) => {
          const size = Buffer.byteLength(draft.data);
          const dropped = tooMany(kept as Kept[], size, own);
          const added = { count: 1 - dropped.length, bytes: size - bytesOf(dropped) };
          const isFull = !hasRoom(inAll?.[0], added, all) || (others && !hasRoom(ofOthers?.[0], added, others));
          if (isFull) return { statements: [], value: false };
          const number = lock?.[0].last + 1;
          const statements = [
            deletion(dropped),
            insertion({ ...draft, number, size }),
            numberedUpTo(log, 'drafts', number),
          ];
          return { statements, value: true };
        },
      ),
    async get(id, now) {
      const [row] = await read({
        text: 'SELECT collection, document, data FROM annals_vault.drafts WHERE log = $1 AND id = $2 AND expires_at > $3',
        values: [log, id, now],
      });
      return row ?? null;
    },
    async delete(id) {
      await write({ text: 'DELETE FROM annals_vault.drafts WHERE log = $1 AND id = $2', values: [log, id] });
    },
    async forget(collection, id, callers) {
      await write({
        text: 'DELETE FROM annals_vault.drafts WHERE log = $1 AND ((collection = $2 AND document = $3) OR caller = ANY($4))',
        values: [log, collection, id, callers],
      });
    },
    purge: (now, lifetime) =>
      change(
        [
          lockOf(log, 'drafts'),
          {
            text: 'UPDATE annals_vault.drafts SET expires_at = $2 WHERE log = $1 AND expires_at > $2',
            values: [log, now + lifetime],
          },
          {
            text: `SELECT number, size FROM annals_vault.drafts WHERE log = $1 AND expires_at <= $2
                   ORDER BY expires_at LIMIT 1000`,
            values: [log, now],
          },
        ],
        ([, , expired = []]) => {
          const some: Kept[] = [];
          let bytes = 0;
          for (const one of expired as Kept[]) {
            if (bytes >= bytesAtOnce) break;
            some.push(one);
            bytes += one.size;
          }
          return { statements: [deletion(some)], value: bytes >= bytesAtOnce };
        },
      ),
    leaveNoTrace: async () => {},
  };

  function insertion(draft: Draft & Kept) {
    const { id, number, caller, collection, document, size, expiresAt, data } = draft;
    return {
      text: `INSERT INTO annals_vault.drafts (log, id, number, caller, collection, document, size, expires_at, data)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      values: [log, id, number, caller, collection, document, size, expiresAt, data],
    };
  }

  function deletion(some: readonly Kept[]) {
    const text = 'DELETE FROM annals_vault.drafts WHERE log = $1 AND number = ANY($2::bigint[])';
    return { text, values: [log, some.map(({ number }) => number)] };
  }
}
