import { registerHooks } from 'node:module';

const root = new URL('../../', import.meta.url).href;
const mark = '?simulated';

/** The modules that the product gets instead of these. */
const instead: Record<string, string> = {
  'better-sqlite3': new URL('sqlite.ts', import.meta.url).href,
  'node:fs': new URL('fs.ts', import.meta.url).href,
  'node:crypto': new URL('crypto.ts', import.meta.url).href,
};

/** These folders are loaded once more for the simulation; all other modules are the usual ones. */
const folders = ['events', 'storage', 'projections'].map((name) => `${root}${name}/`);

registerHooks({
  resolve(specifier, context, next) {
    if (!context.parentURL?.endsWith(mark)) return next(specifier, context);
    const other = instead[specifier];
    if (other !== undefined) return next(other, context);
    const found = next(specifier, context);
    const isOurs = folders.some((folder) => found.url.startsWith(folder));
    return isOurs ? { ...found, url: found.url + mark } : found;
  },
});

function load(file: string): Promise<unknown> {
  return import(`${new URL(file, root).href}${mark}`);
}

/** The product on the simulated disk: its own code, as it stands in its files. */
export const { boot } = (await load('projections/start/boot.ts')) as typeof import('../../projections/start/boot.ts');
export const { catchUp } = (await load(
  'projections/start/rebuild.ts',
)) as typeof import('../../projections/start/rebuild.ts');
export const { openScrubber } = (await load(
  'projections/tables/scrub.ts',
)) as typeof import('../../projections/tables/scrub.ts');
export const { tablesOf } = (await load(
  'projections/tables/tables.ts',
)) as typeof import('../../projections/tables/tables.ts');
export const { openDocuments, registerFunctions } = (await load(
  'projections/query/documents.ts',
)) as typeof import('../../projections/query/documents.ts');
export const { createIds } = (await load('events/store/ids.ts')) as typeof import('../../events/store/ids.ts');
export const { verifyLog } = (await load('events/verify/verify.ts')) as typeof import('../../events/verify/verify.ts');
export const { writeSegment, rewriteSegment } = (await load(
  'events/segments/segment-writer.ts',
)) as typeof import('../../events/segments/segment-writer.ts');
export const { giveBackPages, openDatabase, isDiskFull } = (await load(
  'storage/sqlite.ts',
)) as typeof import('../../storage/sqlite.ts');
