import { registerHooks } from 'node:module';

const root = new URL('../../', import.meta.url).href;
const mark = '?simulated';

/** The modules that the product gets instead of these. */
const instead: Record<string, string> = {
  'better-sqlite3': new URL('sqlite.ts', import.meta.url).href,
  'node:fs': new URL('fs.ts', import.meta.url).href,
  'node:crypto': new URL('crypto.ts', import.meta.url).href,
};

/** These are loaded once more for the simulation; all others are those that everybody has. */
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
export const { boot } = (await load('projections/boot.ts')) as typeof import('../../projections/boot.ts');
export const { catchUp } = (await load('projections/rebuild.ts')) as typeof import('../../projections/rebuild.ts');
export const { openScrubber } = (await load('projections/scrub.ts')) as typeof import('../../projections/scrub.ts');
export const { tablesOf } = (await load('projections/tables.ts')) as typeof import('../../projections/tables.ts');
export const { openDocuments, registerFunctions } = (await load(
  'projections/documents.ts',
)) as typeof import('../../projections/documents.ts');
export const { createIds } = (await load('events/ids.ts')) as typeof import('../../events/ids.ts');
export const { verifyLog } = (await load('events/verify.ts')) as typeof import('../../events/verify.ts');
export const { draftSegment, draftRewriting } = (await load(
  'events/sealing.ts',
)) as typeof import('../../events/sealing.ts');
export const { giveBackPages, openDatabase, isDiskFull } = (await load(
  'storage/sqlite.ts',
)) as typeof import('../../storage/sqlite.ts');
