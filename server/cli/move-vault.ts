import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Arrival } from '../../events/postgres/arrival.ts';
import type { Companion } from '../../events/postgres/moving-in.ts';
import { type ReadVault, vaultStatements } from '../../events/postgres/vault/moving.ts';
import { isVaultMoved, markVaultMoved, replaceRows, unmarkVault } from '../../events/vault-rows.ts';
import { privateFile } from '../../storage/private.ts';
import { openDatabase, type Sqlite, withDatabase } from '../../storage/sqlite.ts';

const options = { durability: 'full', secureDelete: true, cacheMiB: 2 } as const;

/** The file that says that the service has its first documents. */
const seeded = (directory: string) => join(directory, 'seeded');

/** The vault of a data directory, which moves with its log. `logId` is the id of that. */
export function vaultOf(directory: string, logId: string, arrival: Arrival): Companion & { close: () => void } {
  const db = openDatabase(join(directory, 'vault.db'), options);
  return {
    begin: () => void db.exec('BEGIN IMMEDIATE'),
    async copy() {
      const what = { log: arrival.vault(), logId, isSeeded: existsSync(seeded(directory)) };
      await arrival.change(...vaultStatements(db, what));
    },
    commit() {
      if (!isVaultMoved(db)) markVaultMoved(db);
      db.exec('COMMIT');
    },
    rollBack() {
      if (db.inTransaction) db.exec('ROLLBACK');
    },
    close: () => void db.close(),
  };
}

/** Puts what the vault in PostgreSQL has in that of a data directory. */
export function takeVault(directory: string, { rows, isSeeded }: ReadVault): void {
  withDatabase(join(directory, 'vault.db'), options, (db: Sqlite) => {
    const take = db.transaction(() => {
      unmarkVault(db);
      for (const { table, rows: its } of rows) replaceRows(db, table, its);
    });
    take.immediate();
    db.pragma('wal_checkpoint(TRUNCATE)');
  });
  if (isSeeded && !existsSync(seeded(directory)))
    writeFileSync(seeded(directory), `${new Date().toISOString()}\n`, { mode: privateFile });
}
