import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { CollectionConfig, Config, FieldConfig } from '../../config/define.ts';
import { BrokenLogError } from '../../events/store/log-file.ts';
import { SchemaError } from '../../projections/start/schema-check.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { type Directory, dumpFile, openDirectory, quickFolder } from './directory.ts';

/** A field of the posts, and of the other collection that each configuration has. */
export const title = { name: 'title', type: 'text' } as const satisfies FieldConfig;

/** A field that tests add or remove. */
export const body = { name: 'body', type: 'text' } as const satisfies FieldConfig;

/** The collection `posts` with these fields. */
export function posts(...fields: FieldConfig[]): CollectionConfig {
  return { slug: 'posts', fields };
}

/** A configuration of these collections and another one. */
export function configOf(...collections: CollectionConfig[]): Config {
  return { collections: [...collections, { slug: 'others', fields: [title] }] };
}

/** A data directory, and a way to start on it that is a restart from the second time on. */
export function startable(t: TestContext) {
  const root = quickFolder();
  const folder = join(root, 'data');
  let current: Directory | null = null;
  t.after(() => {
    current?.close();
    rmSync(root, { recursive: true, force: true });
  });
  return {
    folder,
    start(config: Config, isRebuild = false): Directory {
      current?.close();
      current = null;
      current = openDirectory(folder, config, { isRebuild });
      return current;
    },
    stop(): void {
      current?.close();
      current = null;
    },
  };
}

/** The rows of a query on a file of a data directory. */
export function query(folder: string, sql: string, file = 'log.db'): unknown[][] {
  const db = openDatabase(join(folder, file), { readonly: true });
  try {
    return db.prepare(sql).raw().all() as unknown[][];
  } finally {
    db.close();
  }
}

/** The types of all events, in order. */
export function typesIn(folder: string): unknown[] {
  return query(folder, "SELECT header ->> 'type' FROM headers ORDER BY position").flat();
}

/** The claims of the log: scope, value and stream of each. */
export function claimsIn(folder: string): unknown[][] {
  return query(folder, 'SELECT scope, value, stream FROM claims ORDER BY 1, 2');
}

/** The whole log, to say that it has not changed. */
export function logOf(folder: string): string {
  return dumpFile(join(folder, 'log.db'));
}

/** The names of the read files in a data directory. */
export function readFilesIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith('read-') && !/-(wal|shm)$/.test(name));
}

/** Whether an error is a `SchemaError` whose message has these parts; asserts both. */
export function schemaError(...parts: string[]) {
  return (error: unknown): true => {
    assert.ok(error instanceof SchemaError, String(error));
    for (const part of parts) assert.ok(error.message.includes(part), `${error.message} names ${part}`);
    return true;
  };
}

/** Whether an error is a `BrokenLogError` with such a message; asserts both. */
export function brokenLog(message: RegExp) {
  return (error: unknown): true => {
    assert.ok(error instanceof BrokenLogError, String(error));
    assert.match(error.message, message);
    return true;
  };
}
