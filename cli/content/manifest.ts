import { isObject, type Json } from '../../config/schema.ts';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import { readJson } from '../../server/queries/field-texts.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { type Format, formats } from './rows.ts';

/** The version of the layout of an export, which this Annals writes and reads. */
const layout = 1;

/**
 * The description of an export, written last: a folder without it is not whole. `log` and `position` say where the
 * documents were read, `exportedAt` is ISO 8601. `globals` are those that have been written.
 */
export type ExportManifest = {
  annalsExport: typeof layout;
  annals: string;
  log: string;
  position: number;
  exportedAt: string;
  format: Format;
  collections: { slug: string; documents: number }[];
  globals: string[];
  files: number;
};

/** The paths inside an export: the slugs are of the configuration, and the SHA-256 is checked. */
export const paths = {
  manifest: 'manifest.json',
  rows: (slug: string, format: Format) => `collections/${slug}.${format}`,
  global: (slug: string) => `globals/${slug}.json`,
  file: (sha256: string) => `files/${sha256}`,
};

/** A new manifest. */
export function manifestOf(parts: Omit<ExportManifest, 'annalsExport'>): ExportManifest {
  return { annalsExport: layout, ...parts };
}

/**
 * Reads a manifest.
 *
 * @param path of its file, for the messages.
 * @throws UsageError naming the member that is wrong.
 */
export function readManifest(text: string, path: string): ExportManifest {
  const given = readJson(text);
  if (!isObject(given) || given.annalsExport === undefined)
    throw new UsageError(`${path} is not the manifest of an export of Annals`);
  const { annalsExport, annals, log, position, exportedAt, format, collections, globals, files } = given;
  if (annalsExport !== layout) {
    const isNewer = typeof annalsExport === 'number' && annalsExport > layout;
    const newer = isNewer ? `; a newer Annals made it${typeof annals === 'string' ? `, ${show(annals)}` : ''}` : '';
    throw new UsageError(
      `${path}: annalsExport must be ${layout}, which this Annals reads, got ${show(annalsExport)}${newer}`,
    );
  }
  const wrong = (name: string, must: string, value: Json | undefined, hint = '') =>
    new UsageError(`${path}: ${name} must be ${must}, got ${show(value)}${hint}`);
  if (typeof annals !== 'string') throw wrong('annals', 'a text', annals);
  if (typeof log !== 'string') throw wrong('log', 'a text', log);
  if (!isCount(position)) throw wrong('position', 'a whole number', position);
  if (typeof exportedAt !== 'string') throw wrong('exportedAt', 'a text', exportedAt);
  if (!isCount(files)) throw wrong('files', 'a whole number', files);
  const known = formats.find((one) => one === format);
  if (!known) throw wrong('format', `one of ${showAll(formats)}`, format, didYouMean(format, formats));
  if (!Array.isArray(globals) || !globals.every((slug) => typeof slug === 'string'))
    throw wrong('globals', 'a list of slugs', globals);
  if (!Array.isArray(collections)) throw wrong('collections', 'a list', collections);
  const parts = collections.map((part, index) => {
    const { slug, documents } = isObject(part) ? part : {};
    if (typeof slug === 'string' && isCount(documents)) return { slug, documents };
    throw wrong(`collections.${index}`, 'an object with a slug and a number of documents', part);
  });
  const twice = [...parts.map(({ slug }) => slug)].find((slug, index, all) => all.indexOf(slug) !== index);
  if (twice !== undefined) throw wrong('collections', 'a list in which each collection is once', twice);
  return manifestOf({ annals, log, position, exportedAt, format: known, collections: parts, globals, files });
}

function isCount(value: Json | undefined): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
