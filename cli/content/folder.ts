import { readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { counted } from '../../config/counted.ts';
import type { Global, Model } from '../../config/model.ts';
import { isObject, type JsonObject } from '../../config/schema.ts';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import { readJson } from '../../server/queries/field-texts.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { findBelow } from './files.ts';
import type { ImportSource } from './importing.ts';
import { type ExportManifest, paths, readManifest } from './manifest.ts';
import { inOrder } from './order.ts';

/** An export that can be imported, with its sources in the order of the import. */
export type ExportFolder = {
  folder: string;
  manifest: ExportManifest;
  sources: (ImportSource & { documents: number })[];
  globals: { path: string; global: Global; values: JsonObject }[];
};

/** Whether a path is that of an export, and not of the file of one collection. */
export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/**
 * Opens an export for a configuration. Nothing outside of the folder is read.
 *
 * @throws UsageError naming all that is missing in the folder, and every collection or global that the configuration
 * does not have.
 */
export function openExport(path: string, model: Model): ExportFolder {
  const folder = realpathSync(path);
  const inside = (name: string) => {
    const found = findBelow(folder, name);
    if ('path' in found) return found.path;
    throw new UsageError(`${path} has no file ${name}${found.problem}`);
  };
  const noExport = findBelow(folder, paths.manifest);
  if ('problem' in noExport)
    throw new UsageError(
      `${path} is not a whole export: it has no ${paths.manifest}, which annals export content writes last`,
    );
  const manifest = readManifest(readFileSync(inside(paths.manifest), 'utf8'), join(path, paths.manifest));
  refuseUnknown(manifest, model);
  const sources = manifest.collections.flatMap(({ slug, documents }) => {
    const collection = model.collections.get(slug);
    if (!collection) return [];
    return [{ path: inside(paths.rows(slug, manifest.format)), format: manifest.format, collection, documents }];
  });
  const globals = manifest.globals.flatMap((slug) => {
    const global = model.globals.get(slug);
    if (!global) return [];
    const file = inside(paths.global(slug));
    const values = readJson(readFileSync(file, 'utf8'));
    if (!isObject(values)) throw new UsageError(`${file} must be a JSON object, got ${show(values)}`);
    return [{ path: file, global, values }];
  });
  return { folder, manifest, sources: inOrder(sources), globals };
}

function refuseUnknown(manifest: ExportManifest, { collections, globals }: Model): void {
  const kinds = [
    { kind: 'collection', found: manifest.collections.map(({ slug }) => slug), known: [...collections.keys()] },
    { kind: 'global', found: manifest.globals, known: [...globals.keys()] },
  ];
  const problems = kinds.flatMap(({ kind, found, known }) => {
    const unknown = found.filter((slug) => !known.includes(slug));
    const here = known.length === 0 ? 'none' : showAll(known);
    return unknown.map(
      (slug) =>
        `the export has the ${kind} ${show(slug)}, which the configuration has not${didYouMean(slug, known)}; it has ${here}`,
    );
  });
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
}

/** @throws UsageError where a file has another number of rows than the manifest says. */
export function requireWhole({ path, documents }: { path: string; documents: number }, rows: number): void {
  if (rows === documents) return;
  const has = `${path} has ${counted(rows, 'row')}, and the manifest says ${documents}`;
  throw new UsageError(`${has}: the export is not whole; correct the manifest if that is meant`);
}
