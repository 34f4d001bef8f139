import type { VaultPort } from '../../vault/vault-port.ts';
import type { VaultRows } from './rows.ts';

/** The data of a row that is there to be locked alone: it is never committed. */
const none = '';

/** The preferences of users, as {@link VaultPort} has them. */
export function openPreferences({ log, read, write, change }: VaultRows): VaultPort['preferences'] {
  const select = 'SELECT data FROM annals_vault.preferences WHERE log = $1 AND owner = $2';
  return {
    async get(user) {
      const [row] = await read({ text: select, values: [log, user] });
      return row?.data ?? null;
    },
    change: (user, next) =>
      change(
        [
          {
            text: 'INSERT INTO annals_vault.preferences VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
            values: [log, user, none],
          },
          { text: `${select} FOR UPDATE`, values: [log, user] },
        ],
        ([, found = []]) => {
          const before: string | undefined = found[0]?.data;
          // Another node has deleted them in between.
          if (before === undefined) return 'again';
          const value = next(before === none ? null : before);
          const text = 'UPDATE annals_vault.preferences SET data = $3 WHERE log = $1 AND owner = $2';
          return { statements: [{ text, values: [log, user, value] }], value };
        },
      ),
    async delete(user) {
      await write({
        text: 'DELETE FROM annals_vault.preferences WHERE log = $1 AND owner = $2',
        values: [log, user],
      });
    },
  };
}
