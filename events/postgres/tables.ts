import { messageOf } from '../../storage/errors.ts';
import type { Connection } from '../../storage/postgres/connection.ts';
import { isAlreadyThere, UnfitServerError } from '../../storage/postgres/errors.ts';

/**
 * A statement of a step. `onPostgres` is added to `table` in PostgreSQL itself, and not in a database that resembles
 * it.
 */
export type TableStep = string | { table?: string; onPostgres: string };

/**
 * The steps from one version of the tables to the next, beginning with an empty database. They use only SQL that
 * PostgreSQL, CockroachDB and YugabyteDB have in common: no advisory locks, sequences, triggers, procedures or
 * notifications. `log`, the number of a head, is in every key, so that many logs fit in one database; the `name` of a
 * head is the name in the headers of its events.
 *
 * Payloads are apart from events: payloads can be erased, and events are never changed. Texts of any length are in keys
 * as their hashes, since PostgreSQL refuses long keys. Tables whose rows can be erased have parts in PostgreSQL itself
 * (`parts.ts`), which keeps erased text in its files until they are made anew.
 *
 * The `state` of a head is "here"; "arriving" while the log is moved into PostgreSQL, and "left" after the log was
 * moved out. `token` is random text that is new with each move: a replica, and the log that is moved, remember it.
 */
export const steps: readonly (readonly TableStep[])[] = [
  [
    `CREATE TABLE annals.heads (
       log int PRIMARY KEY,
       site text NOT NULL UNIQUE,
       name text NOT NULL UNIQUE,
       size bigint NOT NULL,
       root bytea NOT NULL CHECK (length(root) = 32),
       recorded_at text NOT NULL,
       state text NOT NULL,
       token text NOT NULL
     )`,
    `CREATE TABLE annals.events (
       log int NOT NULL,
       position bigint NOT NULL CHECK (position >= 1),
       id uuid NOT NULL,
       stream text NOT NULL,
       version bigint NOT NULL CHECK (version >= 1),
       header text NOT NULL,
       PRIMARY KEY (log, position),
       UNIQUE (log, stream, version),
       UNIQUE (log, id)
     )`,
    {
      table: `CREATE TABLE annals.payloads (
         log int NOT NULL,
         position bigint NOT NULL,
         enc int NOT NULL,
         body text NOT NULL,
         PRIMARY KEY (log, position)
       )`,
      onPostgres: 'PARTITION BY RANGE (log, position)',
    },
    // The changes of claims by each command, for the replicas. `at`: the number of the change in its shipment. `since`:
    // the first event with which a replica needs the change, which is after `position` if the command has no event.
    {
      table: `CREATE TABLE annals.claim_changes (
         log int NOT NULL,
         since bigint NOT NULL,
         at int NOT NULL,
         position bigint NOT NULL,
         stream text NOT NULL,
         scope text NOT NULL,
         value text NOT NULL,
         is_taken boolean NOT NULL,
         PRIMARY KEY (log, since, at)
       )`,
      onPostgres: 'PARTITION BY RANGE (log, since)',
    },
    'CREATE INDEX claim_changes_stream ON annals.claim_changes (log, stream)',
    // The claims that hold now. They decide nothing: they refuse the changes of a damaged replica.
    {
      table: `CREATE TABLE annals.claims (
         log int NOT NULL,
         claim bytea NOT NULL CHECK (length(claim) = 32),
         stream text NOT NULL,
         PRIMARY KEY (log, claim)
       )`,
      onPostgres: 'PARTITION BY LIST (log)',
    },
    'CREATE INDEX claims_stream ON annals.claims (log, stream)',
    `CREATE TABLE annals.attempts (
       log int NOT NULL,
       key text NOT NULL,
       fingerprint text NOT NULL,
       since bigint NOT NULL,
       position bigint NOT NULL,
       stream text NOT NULL,
       version bigint NOT NULL,
       recorded_at bigint NOT NULL,
       PRIMARY KEY (log, key)
     )`,
    'CREATE INDEX attempts_since ON annals.attempts (log, since)',
    'CREATE INDEX attempts_stream ON annals.attempts (log, stream)',
    {
      table: `CREATE TABLE annals.erasures (
         log int NOT NULL,
         position bigint NOT NULL,
         files text NOT NULL,
         PRIMARY KEY (log, position)
       )`,
      onPostgres: 'PARTITION BY LIST (log)',
    },
    // The nodes, with their last reports. `instance`: the process that reported. `scrubbed`: the position up to which
    // the files of the node have nothing of erasures. `seen`: milliseconds since the epoch, by the clock of this
    // database.
    `CREATE TABLE annals.nodes (
       log int NOT NULL,
       node text NOT NULL,
       version text NOT NULL,
       schema text NOT NULL,
       instance text NOT NULL,
       state text NOT NULL,
       applied bigint NOT NULL,
       scrubbed bigint NOT NULL,
       seen bigint NOT NULL,
       PRIMARY KEY (log, node)
     )`,
    // The parts of tables that have lost rows to erasures, and are not made anew yet. `since`: the last such erasure.
    `CREATE TABLE annals.rewrites (
       log int NOT NULL,
       what text NOT NULL,
       part bigint NOT NULL,
       since bigint NOT NULL,
       PRIMARY KEY (log, what, part)
     )`,
    // How far these tables are clean. `cleaned`: the position of the last erasure of which the tables and the
    // write-ahead log have nothing. `upto`: the position of the erasure that is worked on; `lsn`: the place in the
    // write-ahead log after which nothing of it was written, or ''. The node `holder` works on it until `until`.
    `CREATE TABLE annals.cleanings (
       log int PRIMARY KEY,
       cleaned bigint NOT NULL,
       upto bigint NOT NULL,
       lsn text NOT NULL,
       stage text NOT NULL,
       holder text NOT NULL,
       until bigint NOT NULL
     )`,
  ],
];

/** The rights that no role of a node may have: events never change, and payloads are only deleted. */
const forbidden = { events: ['UPDATE', 'DELETE', 'TRUNCATE'], payloads: ['UPDATE', 'TRUNCATE'] };

/** The tables of a schema of SQL: its name, the steps to the tables, and the rights on them that no role may have. */
type TableSet = {
  schema: string;
  steps: readonly (readonly TableStep[])[];
  forbidden: { [table: string]: readonly string[] };
};

/** The first statements on a database, which make the table that counts the steps. */
function groundOf(schema: string): string[] {
  return [
    `CREATE SCHEMA IF NOT EXISTS ${schema}`,
    `CREATE TABLE IF NOT EXISTS ${schema}.tables (only_row int PRIMARY KEY CHECK (only_row = 1), version int NOT NULL)`,
    `INSERT INTO ${schema}.tables VALUES (1, 0) ON CONFLICT DO NOTHING`,
  ];
}

/** Nodes that start at the same time try the same; after this number of tries one of them has succeeded. */
const tries = 20;

/**
 * Makes the tables, or brings them to the newest version; any number of nodes may do so at the same time. The role of
 * the connection gives up the rights that no role may have.
 *
 * @throws UnfitServerError when the tables are of a newer version, or the role may not make them.
 */
export async function prepareTables(
  connection: Connection,
  wanted: readonly (readonly TableStep[])[] = steps,
): Promise<void> {
  await prepareTableSet(connection, { schema: 'annals', steps: wanted, forbidden });
}

/** The same for other tables. @throws UnfitServerError as {@link prepareTables}. */
export async function prepareTableSet(connection: Connection, set: TableSet): Promise<void> {
  for (let left = tries; ; left -= 1) {
    try {
      if (isCurrent(await versionOf(connection, set.schema), set.steps)) return;
      await upgrade(connection, set);
      return;
    } catch (error) {
      if (left === 0 || !isAlreadyThere(error)) throw error;
    }
  }
}

/** @throws UnfitServerError if the tables are newer than the wanted ones. */
function isCurrent(version: number, wanted: readonly (readonly TableStep[])[]): boolean {
  if (version <= wanted.length) return version === wanted.length;
  throw new UnfitServerError(
    `the tables of the log in PostgreSQL have version ${version}; this version of Annals knows versions up to ${wanted.length}`,
  );
}

/** The version of the tables; 0 without tables. */
async function versionOf(connection: Connection, schema: string): Promise<number> {
  const [found] = await connection.run({ text: `SELECT to_regclass('${schema}.tables') IS NOT NULL AS is_there` });
  if (found?.rows[0]?.is_there !== true) return 0;
  const [row] = await connection.run({ text: `SELECT version FROM ${schema}.tables` });
  return row?.rows[0]?.version ?? 0;
}

async function upgrade(connection: Connection, { schema, steps: wanted, forbidden }: TableSet): Promise<void> {
  await transaction(connection, async () => {
    for (const text of groundOf(schema)) await allowed(connection, text);
    const [row] = await connection.run({ text: `SELECT version FROM ${schema}.tables FOR UPDATE` });
    const version: number = row?.rows[0]?.version ?? 0;
    if (isCurrent(version, wanted)) return;
    const isPostgres = await isPostgresItself(connection);
    const texts = wanted.slice(version).flatMap((steps) => steps.map((step) => textOf(step, isPostgres)));
    for (const text of texts.filter((text) => text !== '')) await allowed(connection, text);
    // The owner has every right unless it gives them up.
    for (const [table, rights] of Object.entries(forbidden))
      await allowed(connection, `REVOKE ${rights.join(', ')} ON ${schema}.${table} FROM CURRENT_USER`);
    await connection.run({ text: `UPDATE ${schema}.tables SET version = $1`, values: [wanted.length] });
  });
}

function textOf(step: TableStep, isPostgres: boolean): string {
  if (typeof step === 'string') return step;
  const { table = '', onPostgres } = step;
  return isPostgres ? `${table} ${onPostgres}` : table;
}

/** Whether the server is PostgreSQL, and not a database with the same protocol. */
async function isPostgresItself(connection: Connection): Promise<boolean> {
  const [found] = await connection.run({ text: 'SELECT version() AS version' });
  return /^PostgreSQL (?!.*-YB-)/.test(found?.rows[0]?.version ?? '');
}

async function allowed(connection: Connection, text: string): Promise<void> {
  try {
    await connection.run({ text });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === '42501')) throw error;
    throw new UnfitServerError(
      `the role may not make the tables of the log (${messageOf(error)}): ` +
        'let the owner of the database make them, or grant it CREATE on the database',
      { cause: error },
    );
  }
}

async function transaction(connection: Connection, run: () => Promise<void>): Promise<void> {
  await connection.run({ text: 'BEGIN' });
  try {
    await run();
    await connection.run({ text: 'COMMIT' });
  } catch (error) {
    await connection.run({ text: 'ROLLBACK' });
    throw error;
  }
}

/** @throws UnfitServerError when the role of the connection may change or delete events, or change payloads. */
export async function refuseTooManyRights(connection: Connection): Promise<void> {
  for (const [table, rights] of Object.entries(forbidden)) {
    const [found] = await connection.run({
      text: `SELECT privilege FROM unnest($1::text[]) AS privilege WHERE has_table_privilege(current_user, $2, privilege)`,
      values: [rights, `annals.${table}`],
    });
    const had = (found?.rows ?? []).map(({ privilege }) => privilege);
    if (had.length === 0) continue;
    throw new UnfitServerError(
      `the role may ${had.join(' and ')} annals.${table}, and nothing that it records may be changed: use one that is no superuser, ` +
        `and REVOKE ${had.join(', ')} ON annals.${table}`,
    );
  }
}
