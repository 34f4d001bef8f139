import type { PostgresStatement } from '../../../storage/postgres/connection.ts';
import { type CountedPreview, otherCallers, type Preview, planPreview, planPurge } from '../../vault/previews.ts';
import type { VaultPort } from '../../vault/vault-port.ts';
import { lockOf, numberedUpTo, type VaultRows } from './rows.ts';

const usage =
  'SELECT count(*) AS count, coalesce(sum(size), 0)::bigint AS bytes FROM annals_vault.drafts WHERE log = $1';

/** Previews, as {@link VaultPort} has them. Deleted rows stay in the files of the server until it cleans them. */
export function openPreviews({ log, read, write, change }: VaultRows): VaultPort['previews'] {
  return {
    keep: (preview, quotas) =>
      change(
        [
          lockOf(log, 'drafts'),
          {
            text: 'SELECT number, size FROM annals_vault.drafts WHERE log = $1 AND caller = $2 ORDER BY number',
            values: [log, preview.caller],
          },
          { text: usage, values: [log] },
          { text: `${usage} AND starts_with(caller, $2)`, values: [log, otherCallers] },
        ],
        ([lock, ofCaller = [], all, others]) => {
          const size = Buffer.byteLength(preview.data);
          const found = { ofCaller: ofCaller as CountedPreview[], all: all?.[0], others: others?.[0] };
          const dropped = planPreview(size, quotas, found);
          if (!dropped) return { statements: [], value: false };
          const number: number = lock?.[0].last + 1;
          const inserted = insertion(log, { ...preview, number, size });
          return { statements: [deletion(log, dropped), inserted, numberedUpTo(log, 'drafts', number)], value: true };
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
          const { purged, hasMore } = planPurge(expired as CountedPreview[]);
          return { statements: [deletion(log, purged)], value: hasMore };
        },
      ),
    leaveNoTrace: async () => {},
  };
}

function insertion(log: number, preview: Preview & CountedPreview): PostgresStatement {
  const { id, number, caller, collection, document, size, expiresAt, data } = preview;
  return {
    text: `INSERT INTO annals_vault.drafts (log, id, number, caller, collection, document, size, expires_at, data)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    values: [log, id, number, caller, collection, document, size, expiresAt, data],
  };
}

function deletion(log: number, some: readonly CountedPreview[]): PostgresStatement {
  const text = 'DELETE FROM annals_vault.drafts WHERE log = $1 AND number = ANY($2::bigint[])';
  return { text, values: [log, some.map(({ number }) => number)] };
}
