import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { counted } from '../../config/counted.ts';
import type { Collection, Model } from '../../config/model.ts';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { openLogToRead } from '../../events/store/log-file.ts';
import { logFile } from '../../projections/tables/files.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { loadConfiguration } from '../../server/settings/configuration.ts';
import { type Settings, UsageError } from '../../server/settings/settings.ts';
import { existingLog, hasChanged } from '../data-directory.ts';
import type { importFlags } from '../flags.ts';
import { readReason } from '../held-directory.ts';
import { heedingSignals, type ServiceSetup } from '../operator-connection.ts';
import { filesBelow, filesOfExport } from './files.ts';
import { isFolder, openExport } from './folder.ts';
import { accountsIn, importExport } from './import-folder.ts';
import { importRows } from './import-rows.ts';
import { type ImportCounts, noCounts } from './importing.ts';
import { uniqueFieldsOf } from './relations.ts';
import { type Format, formatOf, formats } from './rows.ts';
import { type Calls, onService } from './service.ts';
import { openState } from './state.ts';

type ImportOptions = CommandLine<typeof importFlags>['flags'];

/**
 * `annals import COLLECTION FILE` and `annals import FOLDER`: exit 0 all rows are imported, 1 some are refused, 2 could
 * not run, or was stopped.
 */
export async function importContent({
  settings,
  flags: asked,
  words,
}: CommandLine<typeof importFlags>): Promise<number> {
  const [first = '', path] = words;
  if (path !== undefined) return importFile(settings, { slug: first, path, asked });
  if (isFolder(first)) return importFolder(settings, { path: first, asked });
  throw new UsageError(
    `FILE is missing: the rows of a collection; without it ${show(first)} must be the folder of an export`,
  );
}

/** The rows of a file, into a collection. */
async function importFile(
  settings: Settings,
  { slug, path, asked }: { slug: string; path: string; asked: ImportOptions },
): Promise<number> {
  const isDryRun = asked['dry-run'] === true;
  const upsert = asked.upsert ?? null;
  if (upsert !== null && asked.state !== undefined) {
    throw new UsageError('--state does not go with --upsert, which finds the rows that are imported by their values');
  }
  if (asked['drop-missing']) throw new UsageError('--drop-missing goes with the folder of an export');
  const format = readFormat(asked.format, path);
  const reason = reasonOf(asked.reason, isDryRun);
  const files = asked.files === undefined ? null : folderOf(asked.files);
  requireFile(path);
  const loaded = await loadConfiguration(settings.config);
  const collection = collectionIn(loaded.model, slug, upsert);
  if (files !== null && !collection.upload) throw new UsageError(`--files: ${slug} is not an upload collection`);
  const isDraft = asked.draft === true;
  if (isDraft && !collection.drafts) throw new UsageError(`--draft: ${slug} has no drafts`);
  const counts = noCounts();
  const takesFiles = collection.upload !== null;
  await connected({ settings, loaded, takesFiles }, isDryRun, async (service, signal) => {
    const calls = isDraft ? ofDrafts(service, loaded.model) : service;
    const ends = { log: logIdOf(settings), source: null };
    const state = upsert === null ? openState(asked.state ?? `${path}.imported`, ends, !isDryRun) : null;
    const { collections, limits } = loaded.model;
    const findFile = filesBelow(files);
    const importing = {
      calls,
      collections,
      limits,
      state,
      upsert,
      isDryRun,
      isDraft,
      reason,
      findFile,
      signal,
      counts,
    };
    await importRows(importing, { path, format, collection });
  });
  return tell(counts, isDryRun);
}

/** An export, with all its collections and globals. */
async function importFolder(
  settings: Settings,
  { path, asked }: { path: string; asked: ImportOptions },
): Promise<number> {
  for (const flag of ['format', 'upsert', 'files'] as const)
    if (asked[flag] !== undefined)
      throw new UsageError(`--${flag} goes with COLLECTION FILE: an export says it itself`);
  const isDryRun = asked['dry-run'] === true;
  const isDraft = asked.draft === true;
  const reason = reasonOf(asked.reason, isDryRun);
  const loaded = await loadConfiguration(settings.config);
  const exported = openExport(path, loaded.model);
  const { log: source, position } = exported.manifest;
  const takesFiles = exported.sources.some(({ collection }) => collection.upload !== null);
  const counts = noCounts();
  await connected({ settings, loaded, takesFiles }, isDryRun, async (service, signal) => {
    const calls = isDraft ? ofDrafts(service, loaded.model) : service;
    const ends = { log: logIdOf(settings), source: `${source} ${position}` };
    const state = openState(asked.state ?? `${resolve(path)}.imported`, ends, !isDryRun);
    const { collections, limits } = loaded.model;
    const findFile = filesOfExport(exported.folder);
    const dropsMissing = asked['drop-missing'] === true;
    const importing = {
      calls,
      collections,
      limits,
      state,
      isDryRun,
      isDraft,
      reason,
      findFile,
      signal,
      counts,
      dropsMissing,
    };
    await importExport(importing, exported);
  });
  const code = tell(counts, isDryRun);
  for (const { slug } of isDryRun ? [] : accountsIn(exported)) {
    process.stdout.write(
      `the accounts of ${slug} have no passwords: their holders set one by POST /api/collections/${slug}/forgot-password\n`,
    );
  }
  return code;
}

/** Calls that save drafts and read them, of collections and globals that have some. */
function ofDrafts({ ask }: Calls, { collections, globals }: Model): Calls {
  return {
    ask(asked) {
      const [, kind, slug = ''] = /^\/api\/(collections|globals)\/([^/?]+)/.exec(asked.path) ?? [];
      const target = kind === 'globals' ? globals.get(slug) : collections.get(slug);
      if (!target?.drafts) return ask(asked);
      return ask({ ...asked, path: `${asked.path}${asked.path.includes('?') ? '&' : '?'}draft=true` });
    },
  };
}

/** Runs an import on the service; a signal stops it at its next row. */
async function connected(
  own: ServiceSetup,
  isDryRun: boolean,
  run: (calls: Calls, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stopping = new AbortController();
  const before = isDryRun ? () => requireUnchanged(own.loaded, own.settings) : () => {};
  await heedingSignals(
    () => stopping.abort(),
    () => onService(own, (calls) => run(calls, stopping.signal), before),
  );
}

/** Prints how many rows ended how; the exit code. */
function tell({ created, updated, unchanged, skipped, refused }: ImportCounts, isDryRun: boolean): number {
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
function logIdOf(settings: Settings): string {
  const db = openLogToRead(logFile(existingLog(settings)));
  try {
    return readLog(db).head().log;
  } finally {
    db.close();
  }
}

/** A command that writes nothing starts no service that would: one with another configuration records that. */
export function requireUnchanged({ path, model }: { path: string; model: Model }, settings: Settings): void {
  existingLog(settings);
  if (!hasChanged(model, settings.data)) return;
  throw new UsageError(
    `${path} is not the configuration that the log ends with: name that one with --config, or start the service once`,
  );
}

/** @throws UsageError if the flag names no format, and the end of the file name none either. */
export function readFormat(flag: string | undefined, file: string): Format {
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
