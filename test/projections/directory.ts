import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkConfig } from '../../config/check.ts';
import type { Config } from '../../config/define.ts';
import { categoryOf, dataFields, type JsonObject, type Schema } from '../../config/schema.ts';
import { compileShape } from '../../config/shape.ts';
import { globalStream } from '../../events/facts/catalogue.ts';
import { uniqueFields } from '../../events/facts/claims.ts';
import { decideCreate, decideDelete, decideGlobalUpdate, decideUpdate } from '../../events/facts/documents.ts';
import type { Change, Command, Outcome, RecordedEvent } from '../../events/facts/log.ts';
import type { Seals } from '../../events/proof/seals.ts';
import { namesOf } from '../../events/service-events/categories.ts';
import { createIds } from '../../events/store/ids.ts';
import { openDocuments, registerFunctions } from '../../projections/query/documents.ts';
import { type BootOptions, type BootResult, boot } from '../../projections/start/boot.ts';
import { type Accounts, openAccounts } from '../../projections/tables/accounts.ts';
import { tablesOf } from '../../projections/tables/tables.ts';
import { verifyDirectory } from '../../projections/verify/verify.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { seals } from '../events/logs.ts';

/** A data directory opened in this process as the writer thread opens it, and the decisions the server makes on it. */
export type Directory = BootResult & {
  schema: Schema;
  /** The read file, as a thread that answers requests has it. */
  reader: Sqlite;
  create: (slug: string, values: JsonObject, id?: string) => string;
  update: (slug: string, id: string, values: JsonObject) => void;
  remove: (slug: string, id: string) => void;
  setGlobal: (slug: string, values: JsonObject) => void;
  /** Null without one. */
  document: (slug: string, id: string) => JsonObject | null;
  /** The text of a document as it was at a position; null when it was not there. `key` is as in {@link Tables}. */
  asOf: (key: string, id: string, position: number) => string | null;
  /** The accounts of the log, as a thread that answers requests reads it. */
  accounts: Accounts;
  /** Records commands, and brings the read file up to date. Returns the events. */
  record: (decision: Change, rest?: Partial<Command>) => RecordedEvent[];
  /** Records without bringing the read file up to date, as a process does that is killed in between. */
  append: (decision: Change, rest?: Partial<Command>) => Outcome;
  close: () => void;
};

let time = Date.parse('2026-11-20T12:00:00.000Z');

/** A clock that goes on by a millisecond whenever somebody looks at it. */
function now(): number {
  time += 1;
  return time;
}

/** Sets that clock ahead, or back. */
export function setClock(milliseconds: number): void {
  time += milliseconds;
}

/** Sets that clock to a time, in milliseconds since the epoch. */
export function setClockTo(milliseconds: number): void {
  time = milliseconds;
}

const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), now);

type How = Pick<BootOptions, 'isRebuild' | 'isStrict' | 'acceptsLoss' | 'onChanges' | 'helpers'> & {
  logId?: string;
} & { seals?: Seals };

/** Opens a data directory, made if it is missing. Losses are accepted by default. */
export function openDirectory(directory: string, config: Config, how: How = {}): Directory {
  const declared = checkConfig(config);
  mkdirSync(directory, { recursive: true });
  const options = { schema: declared.schema, rules: declared.rules, ids, now, seals, acceptsLoss: true };
  const booted = boot({ directory, logId: 'annals/test', ...options, ...how });
  const { schema } = booted;
  const reader = openDatabase(booted.readFile, { readonly: true });
  registerFunctions(reader);
  const described = new Map(tablesOf(schema).map((tables) => [tables.key, tables]));
  const documents = new Map([...described].map(([key, tables]) => [key, openDocuments(reader, tables)]));

  const { categoryFor } = namesOf(schema.collections);

  function current(slug: string, id: string) {
    const found = documents.get(categoryFor(slug))?.current(id);
    if (!found) throw new Error(`there is no ${slug} ${id}`);
    return found;
  }

  function shaped(name: string, values: JsonObject): JsonObject {
    return compileShape(described.get(categoryFor(name))?.fields ?? [])(values);
  }

  function target(slug: string) {
    const found = schema.collections.find((collection) => collection.slug === slug) ?? { slug, fields: [] };
    return { category: categoryOf(found), unique: uniqueFields(categoryOf(found), dataFields(found.fields)) };
  }

  function append(decision: Change, rest: Partial<Command> = {}): Outcome {
    const command: Command = { ...decision, actor: { type: 'system' }, correlationId: 'test', context: {}, ...rest };
    // As the writer thread gets events: as JSON text.
    const { outcomes } = booted.log.append([JSON.parse(JSON.stringify(command)) as Command]);
    const outcome = outcomes[0] as Outcome | Error;
    if (outcome instanceof Error) throw outcome;
    return outcome;
  }

  function record(decision: Change, rest?: Partial<Command>): RecordedEvent[] {
    const before = booted.log.head().size;
    const outcome = append(decision, rest);
    if (!outcome.ok) throw new Error(`refused: ${JSON.stringify(outcome)}`);
    const { size, root } = booted.log.head();
    const events = booted.log.range(before, size);
    booted.projector.apply(events, root);
    return events;
  }

  function write(decision: Change | null): void {
    if (decision) record(decision);
  }

  return {
    ...booted,
    schema,
    reader,
    accounts: openAccounts(reader),
    record,
    append,
    create(slug, values, given) {
      const { id, at } = ids.next();
      write(decideCreate(target(slug), given ?? id, { at, values: shaped(slug, values) }));
      return given ?? id;
    },
    update(slug, id, values) {
      write(decideUpdate(target(slug), id, { current: current(slug, id), values, at: ids.next().at }));
    },
    remove(slug, id) {
      write(decideDelete(target(slug), id, current(slug, id)));
    },
    setGlobal(slug, values) {
      const key = globalStream(slug);
      const before = documents.get(key)?.current(slug) ?? { version: 0, document: shaped(key, {}) };
      write(decideGlobalUpdate(slug, before, { values, at: ids.next().at }));
    },
    document: (slug, id) => documents.get(categoryFor(slug))?.current(id)?.document ?? null,
    asOf: (key, id, position) => documents.get(key)?.asOf(id, position)?.text ?? null,
    close() {
      reader.close();
      booted.close();
    },
  };
}

/** A folder in memory if the system has one: these tests commit thousands of times, and no power is cut. */
export function quickFolder(): string {
  return mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'annals-test-'));
}

/** The finding of `annals verify`; null when all is sound. */
export function findingIn(directory: string): string | null {
  return verifyDirectory(directory, true, { log: () => {}, replay: () => {} }).finding;
}

/** Every table of a read file, each row as the bytes SQLite has of it and in the order of its key, and every index. */
export function dump(db: Sqlite): string {
  const schema = db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').raw().all() as string[][];
  const lines = schema.map((row) => row.join(' | '));
  for (const [type, table] of schema) {
    if (type !== 'table') continue;
    const columns = db.prepare(`SELECT * FROM "${table}"`).columns();
    const cells = columns.map(({ name }) => `typeof("${name}") || ' ' || hex("${name}")`).join(" || ', ' || ");
    const order = columns.map((_, index) => index + 2).join(', ');
    const rows = db.prepare(`SELECT ${cells}, * FROM "${table}" ORDER BY ${order}`).pluck().all() as string[];
    lines.push(`-- ${table}`, ...rows);
  }
  return lines.join('\n');
}

/** Opens a read file, dumps it and closes it. */
export function dumpFile(path: string): string {
  const db = openDatabase(path, { readonly: true });
  try {
    return dump(db);
  } finally {
    db.close();
  }
}
