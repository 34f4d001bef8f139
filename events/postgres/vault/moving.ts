import type { Connection, PostgresStatement } from '../../../storage/postgres/connection.ts';
import type { Sqlite } from '../../../storage/sqlite.ts';
import {
  deliveryTables,
  lastNumbers,
  type VaultRow,
  type VaultTable,
  vaultRows,
  vaultTables,
} from '../../vault/vault-rows.ts';
import { numberedUpTo } from './rows.ts';

/** The most rows of one statement: some hold a whole document. */
const chunk = 200;

/**
 * The statements that replace the vault of a log in PostgreSQL, and the deliveries of webhooks, by those of files.
 * `log` is the number of the vault, `logId` the id of the log; `isSeeded`: whether the seed was written.
 */
export function vaultStatements(
  { vault: db, deliveries }: { vault: Sqlite; deliveries: Sqlite | null },
  { log, logId, isSeeded }: { log: number; logId: string; isSeeded: boolean },
): PostgresStatement[] {
  const last = lastNumbers(db);
  const all = [
    ...vaultTables.map((table) => ({ table, rows: vaultRows(db, table) })),
    ...deliveryTables.map((table) => ({ table, rows: deliveries ? vaultRows(deliveries, table) : [] })),
  ];
  return [
    { text: 'UPDATE annals_vault.vaults SET log_id = $2 WHERE log = $1', values: [log, logId] },
    ...all.flatMap(({ table, rows }) => [
      { text: `DELETE FROM annals_vault.${table.name} WHERE log = $1`, values: [log] },
      ...insertions(log, table, rows),
    ]),
    numberedUpTo(log, 'keys', last.keys),
    numberedUpTo(log, 'drafts', last.drafts),
    numberedUpTo(log, 'own-drafts', last.ownDrafts),
    { text: 'DELETE FROM annals_vault.jobs WHERE log = $1', values: [log] },
    ...(isSeeded ? [{ text: "INSERT INTO annals_vault.jobs VALUES ($1, 'seed', $2)", values: [log, Date.now()] }] : []),
  ];
}

function insertions(log: number, { name, columns }: VaultTable, rows: readonly VaultRow[]): PostgresStatement[] {
  const names = columns.map((column) => column.split(' ')[0] as string);
  const types = columns.map((column) => column.split(' ')[1]?.split('::') ?? []);
  const values = names.map((column, at) => (types[at]?.[1] ? `${column}::${types[at][1]}` : column));
  const arrays = types.map(([type], at) => `$${at + 2}::${type}[]`);
  const text = `INSERT INTO annals_vault.${name} (log, ${names.join(', ')})
                SELECT $1::int, ${values.join(', ')} FROM unnest(${arrays.join(', ')}) AS given (${names.join(', ')})`;
  return Array.from({ length: Math.ceil(rows.length / chunk) }, (_, at) => {
    const some = rows.slice(at * chunk, (at + 1) * chunk);
    return { text, values: [log, ...names.map((column) => some.map((row) => row[column] ?? null))] };
  });
}

/** The rows of the vault of a log in PostgreSQL. */
export type ReadVault = { rows: { table: VaultTable; rows: VaultRow[] }[]; isSeeded: boolean };

const tables = [...vaultTables, ...deliveryTables];

/** Reads a vault, inside a transaction of the caller. */
export async function readVault(connection: Connection, log: number): Promise<ReadVault> {
  const seed = { text: "SELECT 1 FROM annals_vault.jobs WHERE log = $1 AND name = 'seed'", values: [log] };
  const results = await connection.run(...tables.map((table) => ({ text: selectionOf(table), values: [log] })), seed);
  return {
    rows: tables.map((table, at) => ({ table, rows: (results[at]?.rows ?? []) as VaultRow[] })),
    isSeeded: (results.at(-1)?.rows.length ?? 0) > 0,
  };
}

function selectionOf({ name, columns }: VaultTable): string {
  const shown = columns.map((column) => {
    const [called, type = ''] = column.split(' ');
    return type.endsWith('::boolean') ? `${called}::int` : called;
  });
  const isNumbered = columns.includes('number bigint');
  return `SELECT ${shown.join(', ')} FROM annals_vault.${name} WHERE log = $1${isNumbered ? ' ORDER BY number' : ''}`;
}
