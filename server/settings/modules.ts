import { createRequire, registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isOwnModule } from '../platform/carried.ts';

/** A module as it was read: its format as Node names it (`module-typescript`, `commonjs`), and its text. */
export type Source = { format: string | undefined; source: string | Uint8Array };

/** The modules of a configuration by their addresses (`file:`), without those of packages. */
export type Sources = ReadonlyMap<string, Source>;

/** A module, and what it is made of. It grows when the module imports something later. */
export type Imported = { module: Record<string, unknown>; sources: Sources };

/** The modules that this thread has imported, by generation. Those of the first have their plain addresses. */
const generations: Map<string, Source>[] = [];
const require = createRequire(import.meta.url);
const marker = /[?&]annals=(\d+)$/;

/**
 * Imports the module of a configuration, and records the text of each module that is a part of it.
 *
 * @param kept the texts to take in place of the files; null: the files as they are now.
 * @param isAgain whether modules are loaded that this thread has loaded before, which Node keeps for the life of a thread: they get other
 *   addresses. Packages are not loaded again.
 * @throws any error of the module, or of Node.
 */
export async function importModule(file: string, kept: Sources | null, isAgain: boolean): Promise<Imported> {
  if (generations.length === 0) begin();
  else if (isAgain) {
    forgetRequired();
    generations.push(new Map());
  }
  const generation = generations.length - 1;
  const sources = generations[generation] as Map<string, Source>;
  for (const [address, source] of kept ?? []) sources.set(address, source);
  return { module: await import(marked(pathToFileURL(file).href, generation)), sources };
}

/** The modules of the import under way, or of the last one, also where it has failed. */
export function recordedSources(): Sources {
  return generations.at(-1) ?? new Map();
}

function begin(): void {
  generations.push(new Map());
  registerHooks({
    resolve(specifier, context, next) {
      const generation = Number((marker.exec(specifier) ?? marker.exec(context.parentURL ?? ''))?.[1] ?? 0);
      const known = addressOf(specifier, context.parentURL);
      const kept = generations[generation]?.get(known);
      // Node finds no module whose file is gone.
      if (kept) return { url: marked(known, generation), format: kept.format ?? null, shortCircuit: true };
      const found = next(specifier, context);
      return isTheirs(found.url) ? { ...found, url: marked(found.url, generation) } : found;
    },
    load(url, context, next) {
      if (!isTheirs(url)) return next(url, context);
      // Modules that `require` loads have no mark, and belong to the import under way.
      const generation = Number(marker.exec(url)?.[1] ?? generations.length - 1);
      const sources = generations[generation] as Map<string, Source>;
      const address = url.replace(marker, '');
      const known = sources.get(address);
      if (known) return { ...known, format: known.format ?? null, shortCircuit: true };
      const loaded = next(url, context);
      const source = textOf(loaded.source, loaded.format);
      if (source !== null) sources.set(address, { format: loaded.format ?? undefined, source });
      return loaded;
    },
  });
}

/** The address that an import names; empty where it names a package. */
function addressOf(specifier: string, parent: string | undefined): string {
  if (specifier.startsWith('file:')) return specifier.replace(marker, '');
  const isRelative = parent !== undefined && /^\.{0,2}\//.test(specifier);
  return isRelative && URL.canParse(specifier, parent) ? new URL(specifier, parent).href : '';
}

/** Whether a module is a part of a configuration, and neither ours nor that of a package. */
function isTheirs(url: string): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/') && !isOwnModule(url);
}

function marked(url: string, generation: number): string {
  if (generation === 0 || marker.test(url)) return url;
  return `${url}${url.includes('?') ? '&' : '?'}annals=${generation}`;
}

/** Modules of CommonJS are kept by their paths. */
function forgetRequired(): void {
  for (const [address, { format }] of generations.flatMap((sources) => [...sources])) {
    if (format?.startsWith('commonjs') || format?.startsWith('json')) delete require.cache[fileURLToPath(address)];
  }
}

type Loadable = string | ArrayBuffer | NodeJS.TypedArray | null | undefined;

function textOf(source: Loadable, format: string | null | undefined): Source['source'] | null {
  if (typeof source === 'string' || source === null || source === undefined) return source ?? null;
  const bytes = source instanceof ArrayBuffer ? new Uint8Array(source) : source;
  const all = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return format === 'wasm' ? all.slice() : new TextDecoder().decode(all);
}
