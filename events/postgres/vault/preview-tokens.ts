import type { PreviewToken } from '../../vault/preview-tokens.ts';
import type { VaultPort } from '../../vault/vault-port.ts';
import { lockOf, type VaultRows } from './rows.ts';

const table = 'annals_vault.preview_tokens';
const columns = 'id, hash, maker, view, created_at, expires_at';

/** The tokens that show views of the site, as {@link VaultPort} has them. */
export function openPreviewTokens({ log, read, write, change }: VaultRows): VaultPort['previewTokens'] {
  return {
    add: ({ id, hash, maker, view, createdAt, expiresAt }, { now, most }) =>
      change(
        [
          // Locked, so that two nodes do not both take the last place.
          lockOf(log, 'preview-tokens'),
          { text: `DELETE FROM ${table} WHERE log = $1 AND expires_at <= $2`, values: [log, now] },
          { text: `SELECT count(*) AS count FROM ${table} WHERE log = $1`, values: [log] },
        ],
        ([, , found = []]) => {
          if (Number(found[0]?.count ?? 0) >= most) return { statements: [], value: false };
          const text = `INSERT INTO ${table} VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`;
          return { statements: [{ text, values: [log, id, hash, maker, view, createdAt, expiresAt] }], value: true };
        },
      ),
    async find(hash, now) {
      const text = `SELECT ${columns} FROM ${table} WHERE log = $1 AND hash = $2 AND expires_at > $3`;
      const [row] = await read({ text, values: [log, hash, now] });
      return row ? tokenOf(row) : null;
    },
    async all(now) {
      const text = `SELECT ${columns} FROM ${table} WHERE log = $1 AND expires_at > $2 ORDER BY created_at DESC, id DESC`;
      return (await read({ text, values: [log, now] })).map(tokenOf);
    },
    async delete(id) {
      await write({ text: `DELETE FROM ${table} WHERE log = $1 AND id = $2`, values: [log, id] });
    },
    async forget(maker) {
      await write({ text: `DELETE FROM ${table} WHERE log = $1 AND maker = $2`, values: [log, maker] });
    },
  };
}

type Row = Awaited<ReturnType<VaultRows['read']>>[number];

function tokenOf({ id, hash, maker, view, created_at: createdAt, expires_at: expiresAt }: Row): PreviewToken {
  return { id, hash, maker, view, createdAt: Number(createdAt), expiresAt: Number(expiresAt) };
}
