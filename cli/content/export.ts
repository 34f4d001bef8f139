import { once } from 'node:events';
import { createWriteStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { counted } from '../../config/counted.ts';
import type { CollectionSchema, JsonObject, Schema } from '../../config/schema.ts';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import { epochsOf } from '../../projections/tables/epochs.ts';
import { seesAll } from '../../server/access/sight.ts';
import { openHistory } from '../../server/audit/history.ts';
import { blobSettingsOf } from '../../server/files/blobs/store.ts';
import { version } from '../../server/platform/version.ts';
import { readMoment } from '../../server/queries/moments.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { type Settings, UsageError } from '../../server/settings/settings.ts';
import { openBlobStore } from '../../storage/blob-store.ts';
import { privateFile, privateFolder } from '../../storage/private.ts';
import type { contentExportFlags } from '../flags.ts';
import { ofFlag } from '../log/events.ts';
import { reading } from '../log/reading.ts';
import { heedingSignals } from '../operator-connection.ts';
import { given } from './columns.ts';
import { copyFiles } from './copied-files.ts';
import { documentsOf, type Exporting, fieldsOf, globalOf } from './exporting.ts';
import { idsOf } from './filtered.ts';
import { readFormat } from './import.ts';
import { manifestOf, paths } from './manifest.ts';
import { type Format, formatOf } from './rows.ts';
import { textsOf } from './written-rows.ts';

/**
 * `annals export content`: exit 0 exported, 1 without files that the store does not have, 2 could not run, or was
 * stopped.
 */
export async function exportContent({
  settings,
  flags: asked,
  words,
}: CommandLine<typeof contentExportFlags>): Promise<number> {
  const { out, where } = asked;
  if (out === undefined) throw new UsageError('--out is missing: the folder to write; - is standard output');
  const isOneFile = out === '-' || formatOf(out) !== undefined;
  const format = asked.format === undefined && (out === '-' || !isOneFile) ? 'ndjson' : readFormat(asked.format, out);
  for (const flag of ['config', 'accept-clock'] as const)
    if (where === undefined && asked[flag] !== undefined)
      throw new UsageError(`--${flag} goes with --where: without it the log alone is read`);
  if (asked.fields !== undefined && !isOneFile) throw new UsageError('--fields goes with a file or standard output');
  if (asked['no-files'] && isOneFile) throw new UsageError('--no-files goes with a folder, which alone has files');
  if (out !== '-') requireFree(out, isOneFile);
  const stopping = new AbortController();
  return reading(settings, (log) =>
    heedingSignals(
      () => stopping.abort(),
      async () => {
        const end = log.head().size;
        const now = { events: log, clock: { believed: Date.now } };
        const asOf = asked['as-of'];
        const position = asOf === undefined ? end : ofFlag(() => readMoment(asOf, '--as-of', now));
        const chosen = choose(schemaOf(log), words);
        const names = asked.fields === undefined ? null : readFields(asked.fields, onlyOf(chosen, '--fields'));
        const ids =
          where === undefined ? null : await idsOf(settings, { slug: onlyOf(chosen, '--where').slug, where, position });
        const { signal } = stopping;
        const exporting = { log, histories: openHistory(log).as(seesAll), position, end, ids, names, signal };
        if (isOneFile) return exportOne(exporting, { out, format, collection: onlyOf(chosen, '--out') });
        return exportFolder(exporting, { ...chosen, out, format, settings, isWithFiles: !asked['no-files'] });
      },
    ),
  );
}

/** The collections and globals that the log ends with. */
function schemaOf(log: LogReader): Schema {
  return epochsOf(log).at(-1)?.schema ?? { collections: [], globals: [] };
}

/** The collections and the slugs of globals to export. */
type ExportSelection = { collections: CollectionSchema[]; globals: string[] };

/** @param words slugs of collections, `globals/SLUG`, or `globals` for all of these; without words all. */
function choose(schema: Schema, words: readonly string[]): ExportSelection {
  const globals = schema.globals.map(({ slug }) => slug);
  if (words.length === 0) return { collections: schema.collections, globals };
  const known = [
    ...schema.collections.map(({ slug }) => slug),
    ...(globals.length > 0 ? ['globals'] : []),
    ...globals.map((slug) => `globals/${slug}`),
  ];
  const unknown = words.filter((word) => !known.includes(word));
  if (unknown.length > 0) {
    const lines = unknown.map((word) => `there is no collection ${show(word)}${didYouMean(word, known)}`);
    throw new UsageError(`${lines.join('\n')}\nthere are ${showAll(known)}`);
  }
  return {
    collections: schema.collections.filter(({ slug }) => words.includes(slug)),
    globals: globals.filter((slug) => words.includes('globals') || words.includes(`globals/${slug}`)),
  };
}

function onlyOf({ collections, globals }: ExportSelection, flag: string): CollectionSchema {
  const [only] = collections;
  if (only && collections.length === 1 && globals.length === 0) return only;
  const more = flag === '--out' ? ', or a folder for more' : '';
  throw new UsageError(`${flag} is for the documents of one collection: name it${more}`);
}

/** The names of fields in a list with commas; the id is always one of them. */
function readFields(text: string, collection: CollectionSchema): ReadonlySet<string> {
  const known = [...given, ...fieldsOf(collection).map(({ name }) => name)];
  const names = text.split(',').map((name) => name.trim());
  const problems = names
    .filter((name) => !known.includes(name))
    .map((name) => `--fields: ${show(name)} is not a field of ${collection.slug}${didYouMean(name, known)}`);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return new Set(['id', ...names]);
}

type ToFile = { out: string; format: Format; collection: CollectionSchema };

/** Writes the documents of one collection. Their number goes to standard error. */
async function exportOne(exporting: Exporting, { out, format, collection }: ToFile): Promise<number> {
  let count = 0;
  const documents = documentsOf(exporting, collection, () => {
    count += 1;
  });
  const has = (name: string) => exporting.names?.has(name) ?? true;
  const fields = fieldsOf(collection).filter(({ name }) => has(name));
  const texts = textsOf(format, { names: given.filter(has), fields, documents });
  if (out === '-') {
    for await (const text of texts) if (!process.stdout.write(text)) await once(process.stdout, 'drain');
  } else await whole(out, (partial) => write(partial, texts));
  const files = collection.upload ? '; without files, which only a folder has' : '';
  process.stderr.write(`exported ${counted(count, 'document')} as of position ${exporting.position}${files}\n`);
  return 0;
}

type ToFolder = ExportSelection & { out: string; format: Format; settings: Settings; isWithFiles: boolean };

async function exportFolder(exporting: Exporting, to: ToFolder): Promise<number> {
  const { out, format, settings } = to;
  let files = { count: 0, missing: [] as string[] };
  const documents: { slug: string; documents: number }[] = [];
  const globals: string[] = [];
  await whole(out, async (partial) => {
    for (const folder of ['', 'collections', 'globals', 'files']) mkdirSync(join(partial, folder), privateFolder);
    const named = new Set<string>();
    for (const collection of to.collections) {
      const { slug } = collection;
      let count = 0;
      const found = documentsOf(exporting, collection, ({ sha256 }) => {
        count += 1;
        if (collection.upload && typeof sha256 === 'string') named.add(sha256);
      });
      const texts = textsOf(format, { names: given, fields: fieldsOf(collection), documents: found });
      await write(join(partial, paths.rows(slug, format)), texts);
      documents.push({ slug, documents: count });
    }
    for (const slug of to.globals) {
      const global = await globalOf(exporting, slug);
      if (!global) continue;
      await write(join(partial, paths.global(slug)), [pretty(global)]);
      globals.push(slug);
    }
    if (to.isWithFiles && named.size > 0) {
      const blobs = openBlobStore(blobSettingsOf(settings));
      try {
        files = await copyFiles(blobs, named, { folder: partial, signal: exporting.signal });
      } finally {
        blobs.close();
      }
    }
    const { log, position } = exporting;
    const manifest = manifestOf({
      annals: version(),
      log: log.head().log,
      position,
      exportedAt: new Date().toISOString(),
      format,
      collections: documents,
      globals,
      files: files.count,
    });
    await write(join(partial, paths.manifest), [pretty(manifest)]);
  });
  const all = documents.reduce((sum, one) => sum + one.documents, 0);
  const parts = [counted(all, 'document'), counted(globals.length, 'global'), counted(files.count, 'file')];
  process.stdout.write(`exported ${parts.join(', ')} as of position ${exporting.position} to ${out}\n`);
  for (const line of files.missing) process.stderr.write(`${line}\n`);
  return files.missing.length === 0 ? 0 : 1;
}

function pretty(value: JsonObject | ReturnType<typeof manifestOf>): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Writes a file or folder under another name beside it: it gets its own when it is whole. */
async function whole(out: string, make: (partial: string) => Promise<void>): Promise<void> {
  const target = resolve(out);
  const partial = join(dirname(target), `.${basename(target)}.${process.pid}.partial`);
  try {
    await make(partial);
    renameSync(partial, target);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** Readable by its owner alone, as it may hold personal data. */
async function write(path: string, texts: Iterable<string> | AsyncIterable<string>): Promise<void> {
  await pipeline(Readable.from(texts), createWriteStream(path, { flags: 'wx', mode: privateFile, flush: true }));
}

/** An export replaces nothing: a folder may be there if it is empty. */
function requireFree(out: string, isFile: boolean): void {
  const target = resolve(out);
  if (!existsSync(dirname(target))) throw new UsageError(`--out: there is no folder ${dirname(target)}`);
  if (!existsSync(target)) return;
  const isEmpty = !isFile && statSync(target).isDirectory() && readdirSync(target).length === 0;
  if (!isEmpty) throw new UsageError(`--out: ${out} exists, and an export replaces nothing`);
}
