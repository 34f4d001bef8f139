import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { counted } from '../../../config/counted.ts';
import type { Collection, Model } from '../../../config/model.ts';
import { didYouMean, show, showAll } from '../../../config/suggest.ts';
import { openLogToRead } from '../../../events/log-file.ts';
import { readLog } from '../../../events/log-reader.ts';
import { logFile } from '../../../projections/files.ts';
import { readSettings } from '../../settings/command.ts';
import { loadConfiguration } from '../../settings/configuration.ts';
import type { Flags } from '../../settings/flags.ts';
import { type Settings, UsageError } from '../../settings/settings.ts';
import { existingLog, hasChanged } from '../data.ts';
import { heedingSignals } from '../operator.ts';
import { readReason } from '../writing.ts';
import { filesBelow } from './files.ts';
import { type Counts, type Importing, importRows, noCounts } from './importing.ts';
import { uniqueFieldsOf } from './relations.ts';
import { type Format, formatOf, formats } from './rows.ts';
import { onService } from './service.ts';
import { openState } from './state.ts';

const flags = {
  format: 'string',
  upsert: 'string',
  'dry-run': 'boolean',
  reason: 'string',
  state: 'string',
  files: 'string',
} satisfies Flags;

/** `annals import COLLECTION FILE`: exit 0 all rows are imported, 1 some are refused, 2 could not run, or was stopped. */
export async function importContent(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const {
    settings,
    flags: given,
    words,
  } = readSettings(args, environment, {
    settings: ['config', 'data', 'acceptClock'],
    flags,
    words: ['COLLECTION', 'FILE'],
  });
  const [slug = '', path = ''] = words;
  const isDryRun = given['dry-run'] === true;
  const upsert = given.upsert ?? null;
  if (upsert !== null && given.state !== undefined) {
    throw new UsageError('--state does not go with --upsert, which finds the rows that are imported by their values');
  }
  const format = readFormat(given.format, path);
  const reason = reasonOf(given.reason, isDryRun);
  const files = given.files === undefined ? null : folderOf(given.files);
  requireFile(path);
  const loaded = await loadConfiguration(settings.config);
  const collection = collectionIn(loaded.model, slug, upsert);
  if (files !== null && !collection.upload) throw new UsageError(`--files: ${slug} is not an upload collection`);
  const counts = noCounts();
  const before = isDryRun ? () => requireUnchanged(loaded, settings) : () => {};
  const stopping = new AbortController();
  await heedingSignals(
    () => stopping.abort(),
    () =>
      onService(
        { settings, loaded },
        async (calls) => {
          const state =
            upsert === null ? openState(given.state ?? `${path}.imported`, logIdOf(settings), !isDryRun) : null;
          const importing: Importing = {
            calls,
            collections: loaded.model.collections,
            state,
            upsert,
            isDryRun,
            reason,
            findFile: filesBelow(files),
            signal: stopping.signal,
            counts,
          };
          await importRows(importing, { path, format, collection });
        },
        before,
      ),
  );
  return tell(counts, isDryRun);
}

/** Prints how many rows ended how; the exit code. */
function tell({ created, updated, unchanged, skipped, refused }: Counts, isDryRun: boolean): number {
  const words = isDryRun ? ['to create', 'to update'] : ['created', 'updated'];
  const parts = [`${created} ${words[0]}`, `${updated} ${words[1]}`, `${unchanged} unchanged`];
  if (skipped > 0) parts.push(`${skipped} imported before`);
  process.stdout.write(`${[...parts, `${refused} refused`].join(', ')}\n`);
  return refused > 0 ? 1 : 0;
}

/** The reason that the log keeps with each write. */
function reasonOf(text: string | undefined, isDryRun: boolean): string {
  if (text === undefined) return 'imported by annals import';
  if (isDryRun) throw new UsageError('--dry-run writes nothing, so it does not go with --reason');
  return readReason(text, 'why content is imported');
}

/** The id of the log that is written to. */
function logIdOf({ data }: Settings): string {
  const db = openLogToRead(logFile(existingLog(data)));
  try {
    return readLog(db).head().log;
  } finally {
    db.close();
  }
}

/** A command that writes nothing starts no service that would: one with another configuration records that. */
function requireUnchanged({ path, model }: { path: string; model: Model }, { data }: Settings): void {
  existingLog(data);
  if (!hasChanged(model, data)) return;
  throw new UsageError(
    `${path} is not the configuration that the log ends with: name that one with --config, or start the service once`,
  );
}

/** @throws UsageError if the flag names no format, and the end of the file name none either. */
function readFormat(flag: string | undefined, file: string): Format {
  const known = flag === undefined ? formatOf(file) : formats.find((format) => format === flag);
  if (known) return known;
  if (flag === undefined) throw new UsageError(`${file}: --format must say what it is, one of ${showAll(formats)}`);
  throw new UsageError(`--format must be one of ${showAll(formats)}, got ${show(flag)}${didYouMean(flag, formats)}`);
}

function requireFile(path: string): void {
  if (!existsSync(path)) throw new UsageError(`there is no file ${path}`);
  if (!statSync(path).isFile()) throw new UsageError(`${path} is not a file`);
}

function folderOf(path: string): string {
  const folder = resolve(path);
  if (!existsSync(folder) || !statSync(folder).isDirectory())
    throw new UsageError(`--files: there is no folder ${path}`);
  return folder;
}

function collectionIn({ collections }: Model, slug: string, upsert: string | null): Collection {
  const collection = collections.get(slug);
  if (!collection) {
    const slugs = [...collections.keys()];
    throw new UsageError(`there is no collection ${show(slug)}${didYouMean(slug, slugs)}; there are ${showAll(slugs)}`);
  }
  const unique = uniqueFieldsOf(collection);
  if (upsert === null || unique.includes(upsert)) return collection;
  const fields =
    unique.length === 0
      ? 'it has no unique field'
      : `its unique ${counted(unique.length, 'field')}: ${showAll(unique)}`;
  throw new UsageError(
    `--upsert must be a unique field of ${slug}, got ${show(upsert)}${didYouMean(upsert, unique)}; ${fields}`,
  );
}
