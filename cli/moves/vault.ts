import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Arrival } from '../../events/postgres/arrival.ts';
import type { Companion } from '../../events/postgres/moving-in.ts';
import { type ReadVault, vaultStatements } from '../../events/postgres/vault/moving.ts';
import {
  deliveryTables,
  isVaultMoved,
  markVaultMoved,
  replaceRows,
  unmarkVault,
} from '../../events/vault/vault-rows.ts';
import { webhooksFile } from '../../projections/tables/files.ts';
import { openDeliveries } from '../../server/webhooks/deliveries.ts';
import { privateFile } from '../../storage/private.ts';
import { openDatabase, type Sqlite, withDatabase } from '../../storage/sqlite.ts';

const options = { durability: 'full', secureDelete: true, cacheMiB: 2 } as const;

/** The file that says that the service has its first documents. */
const seeded = (directory: string) => join(directory, 'seeded');

/** The vault of a data directory, which moves with its log. `logId` is the id of that. */
export function vaultOf(directory: string, logId: string, arrival: Arrival): Companion & { close: () => void } {
  const db = openDatabase(join(directory, 'vault.db'), options);
  const file = webhooksFile(directory);
  const deliveries = existsSync(file) ? openDatabase(file, { readonly: true, cacheMiB: 2 }) : null;
  return {
    begin: () => void db.exec('BEGIN IMMEDIATE'),
    async copy() {
      const what = { log: arrival.vault(), logId, isSeeded: existsSync(seeded(directory)) };
      await arrival.change(...vaultStatements({ vault: db, deliveries }, what));
    },
    commit() {
      if (!isVaultMoved(db)) markVaultMoved(db);
      db.exec('COMMIT');
    },
    rollBack() {
      if (db.inTransaction) db.exec('ROLLBACK');
    },
    close() {
      deliveries?.close();
      db.close();
    },
  };
}

/** Copies the vault in PostgreSQL into the vault of a data directory. */
export function takeVault(directory: string, log: { id: string; size: number }, { rows, isSeeded }: ReadVault): void {
  const own = rows.filter(({ table }) => !deliveryTables.includes(table));
  const deliveries = rows.filter(({ table }) => deliveryTables.includes(table));
  // It makes the tables.
  openDeliveries(webhooksFile(directory), log, Date.now()).close();
  withDatabase(webhooksFile(directory), { cacheMiB: 2 }, (db) => take(db, deliveries));
  withDatabase(join(directory, 'vault.db'), options, (db: Sqlite) => {
    take(db, own);
    db.pragma('wal_checkpoint(TRUNCATE)');
  });
  if (isSeeded && !existsSync(seeded(directory)))
    writeFileSync(seeded(directory), `${new Date().toISOString()}\n`, { mode: privateFile });
}

function take(db: Sqlite, all: ReadVault['rows']): void {
  const replace = db.transaction(() => {
    unmarkVault(db);
    for (const { table, rows } of all) replaceRows(db, table, rows);
  });
  replace.immediate();
}
