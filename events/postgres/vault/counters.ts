import type { PostgresStatement } from '../../../storage/postgres/connection.ts';
import type { Counter } from '../../vault/counters.ts';
import type { VaultPort } from '../../vault/vault-port.ts';
import type { VaultRows } from './rows.ts';

type Row = { failures: number; locked_until: number | null; touched: number; is_known: boolean };

type CounterKey = { log: number; key: string };

/** The failures of a row that is there to be locked alone: it is never committed. */
const none = -1;

const columns = 'failures, locked_until, touched, is_known';

/** Counters of failed logins, as {@link VaultPort} has them: the lock of a row makes the count of all nodes exact. */
export function openCounters({ log, read, write, change }: VaultRows): VaultPort['counters'] {
  return {
    async get(key) {
      const [row] = await read({
        text: `SELECT ${columns} FROM annals_vault.counters WHERE log = $1 AND key = $2`,
        values: [log, key],
      });
      return row ? counterOf(row) : null;
    },
    change: (key, next) =>
      change(
        [
          {
            text: `INSERT INTO annals_vault.counters VALUES ($1, $2, ${none}, NULL, 0, false) ON CONFLICT DO NOTHING`,
            values: [log, key],
          },
          {
            text: `SELECT ${columns} FROM annals_vault.counters WHERE log = $1 AND key = $2 FOR UPDATE`,
            values: [log, key],
          },
        ],
        ([, found = []]) => {
          const row: Row | undefined = found[0];
          // Another node has deleted it in between.
          if (!row) return 'again';
          const before = row.failures === none ? null : counterOf(row);
          const counter = next(before);
          if (counter === null && before === null) return { statements: [], value: null };
          return {
            statements: [counter === null ? deletion({ log, key }) : update({ log, key }, counter)],
            value: counter,
          };
        },
      ),
    async tidy(now, before, maxUnknown) {
      await write(
        { text: 'UPDATE annals_vault.counters SET touched = $2 WHERE log = $1 AND touched > $2', values: [log, now] },
        {
          text: `DELETE FROM annals_vault.counters
                 WHERE log = $1 AND touched < $3 AND (locked_until IS NULL OR locked_until <= $2)`,
          values: [log, now, before],
        },
        {
          text: `DELETE FROM annals_vault.counters WHERE log = $1 AND key IN (
                   SELECT key FROM annals_vault.counters WHERE log = $1 AND NOT is_known ORDER BY touched DESC OFFSET $2
                 )`,
          values: [log, maxUnknown],
        },
      );
    },
    async count() {
      const [row] = await read({
        text: 'SELECT count(*) AS count FROM annals_vault.counters WHERE log = $1',
        values: [log],
      });
      return row?.count ?? 0;
    },
  };
}

function update({ log, key }: CounterKey, { failures, lockedUntil, touched, isKnown }: Counter): PostgresStatement {
  return {
    text: `UPDATE annals_vault.counters SET failures = $3, locked_until = $4, touched = $5, is_known = $6
           WHERE log = $1 AND key = $2`,
    values: [log, key, failures, lockedUntil, touched, isKnown],
  };
}

function deletion({ log, key }: CounterKey): PostgresStatement {
  return { text: 'DELETE FROM annals_vault.counters WHERE log = $1 AND key = $2', values: [log, key] };
}

function counterOf({ failures, locked_until: lockedUntil, touched, is_known: isKnown }: Row): Counter {
  return { failures, lockedUntil, touched, isKnown };
}
