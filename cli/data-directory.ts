import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Model } from '../config/model.ts';
import { readLog } from '../events/log/log-reader.ts';
import { settle } from '../events/service-events/categories.ts';
import { BrokenLogError, openLogToRead } from '../events/store/log-file.ts';
import { differenceTo, epochsOf } from '../projections/tables/epochs.ts';
import { logFile } from '../projections/tables/files.ts';
import { blobSettingsOf } from '../server/files/blobs/store.ts';
import { loadConfiguration } from '../server/settings/configuration.ts';
import { type Settings, UsageError } from '../server/settings/settings.ts';
import { findSegmentsOf } from '../server/writer/segment-store.ts';
import { StartError } from '../server/writer/writer.ts';
import { messageOf } from '../storage/errors.ts';
import { isDamage, type Sqlite } from '../storage/sqlite.ts';
import type { ServiceSetup } from './operator-connection.ts';
import { openReadable, type ReadableCopy } from './read-only-copy.ts';

/** Whether the schema or the rules of a configuration differ from those that a log ends with. */
export function hasChanged(model: Model, data: string): boolean {
  return withLog(data, (db) => {
    const log = readLog(db);
    const epochs = epochsOf(log);
    const { schema } = settle(epochs, model.schema, log);
    const { isChanged, hasOtherRules } = differenceTo(epochs.at(-1), { schema, rules: model.rules });
    return isChanged || hasOtherRules;
  });
}

/** Runs a function on the log of a data directory. */
export function withLog<T>(data: string, run: (db: Sqlite) => T): T {
  const db = openLogToRead(logFile(resolve(data)));
  try {
    return run(db);
  } finally {
    db.close();
  }
}

/**
 * The path of a data directory that has a log. After the call this thread knows where the segments of the log are.
 *
 * @param flag the flag that named the directory.
 * @throws UsageError if it has no log.
 */
export function existingLog(settings: DirectorySettings, flag = '--data'): string {
  const directory = resolve(settings.data);
  if (!existsSync(logFile(directory)))
    throw new UsageError(`there is no log in ${directory}; ${flag} names the directory`);
  findSegmentsOf(logFile(directory), blobSettingsOf(settings), true);
  return directory;
}

type DirectorySettings = Pick<Settings, 'data' | 'bucket'>;

/**
 * The same for a command that only reads it: see {@link openReadable}.
 *
 * @param withTables whether the command reads the read tables as well.
 */
export function readableLog(settings: DirectorySettings, { withTables = false, flag = '--data' } = {}): ReadableCopy {
  existingLog(settings, flag);
  const readable = openReadable(settings.data, withTables);
  findSegmentsOf(logFile(readable.directory), blobSettingsOf(settings), true);
  return readable;
}

/** The error of a log that is damaged, as the operator is told; any other error unchanged. */
export function startErrorOf(error: unknown, tell = (message: string) => message): unknown {
  return isDamage(error) || error instanceof BrokenLogError ? new StartError(tell(messageOf(error))) : error;
}

/**
 * The settings and the configuration of the service on a data directory that exists.
 *
 * @throws UsageError if there is no log in it.
 */
export async function configured(settings: Settings): Promise<ServiceSetup> {
  existingLog(settings);
  return { settings, loaded: await loadConfiguration(settings.config) };
}
