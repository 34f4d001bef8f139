import { createRequire, registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isOwnModule } from '../platform/carried.ts';

/** A module as it was read: its format, as Node names it (`module-typescript`, `commonjs`), and its text. */
export type ModuleSource = { format: string | undefined; source: string | Uint8Array };

/** The modules of a configuration by their addresses (`file:`), without modules of packages. */
export type ModuleSources = ReadonlyMap<string, ModuleSource>;

/** A module, with the texts of itself and of all that it imports. */
export type ImportedModule = { module: Record<string, unknown>; sources: ModuleSources };

/** The texts of modules, and the addresses of the modules that each of them imports. */
type Generation = { sources: Map<string, ModuleSource>; imports: Map<string, Set<string>> };

/** The modules that this thread has imported. Modules of the first generation have their plain addresses. */
const generations: Generation[] = [];
const require = createRequire(import.meta.url);
const marker = /[?&]annals=(\d+)$/;

/**
 * Imports the module of a configuration, and records the texts of the modules that are part of it.
 *
 * @param kept the texts to use in place of the files; null: the files as they are now.
 * @param isAgain loads modules anew that this thread has loaded before: Node keeps them for the life of a thread, so
 * they get other addresses. Packages are not loaded again.
 * @throws any error of the module, or of Node.
 */
export async function importModule(
  file: string,
  kept: ModuleSources | null,
  isAgain: boolean,
): Promise<ImportedModule> {
  if (generations.length === 0) begin();
  else if (isAgain) {
    forgetRequired();
    generations.push({ sources: new Map(), imports: new Map() });
  }
  const number = generations.length - 1;
  const generation = generations[number] as Generation;
  const address = pathToFileURL(file).href;
  for (const [known, source] of kept ?? []) generation.sources.set(known, source);
  return { module: await import(marked(address, number)), sources: partsOf(address, generation) };
}

/**
 * The module at an address, and the modules that it imports. Others of the generation may belong to another
 * configuration.
 */
function partsOf(address: string, { sources, imports }: Generation): ModuleSources {
  const found = new Map<string, ModuleSource>();
  const open = [address];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const source = sources.get(next);
    if (!source || found.has(next)) continue;
    found.set(next, source);
    open.push(...(imports.get(next) ?? []));
  }
  return found;
}

/** The modules of the import under way, or of the last one, even if it has failed. */
export function recordedSources(): ModuleSources {
  return generations.at(-1)?.sources ?? new Map();
}

function begin(): void {
  generations.push({ sources: new Map(), imports: new Map() });
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL = '' } = context;
      const number = Number((marker.exec(specifier) ?? marker.exec(parentURL))?.[1] ?? 0);
      const known = addressOf(specifier, parentURL);
      const kept = generations[number]?.sources.get(known);
      // Node finds no module whose file is gone.
      const found = kept ? { url: known, format: kept.format ?? null, shortCircuit: true } : next(specifier, context);
      if (!isTheirs(found.url)) return found;
      note(parentURL, found.url);
      return { ...found, url: marked(found.url, number) };
    },
    load(url, context, next) {
      if (!isTheirs(url)) return next(url, context);
      // Modules that `require` loads have no mark; they belong to the import under way.
      const { sources } = generations[Number(marker.exec(url)?.[1] ?? generations.length - 1)] as Generation;
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

/** Notes that a module imports another. A parent without a mark belongs to the import under way, as in `load`. */
function note(parent: string, child: string): void {
  const { imports } = generations[Number(marker.exec(parent)?.[1] ?? generations.length - 1)] as Generation;
  const address = parent.replace(marker, '');
  imports.set(address, (imports.get(address) ?? new Set()).add(child.replace(marker, '')));
}

/** The address that an import names; empty for a package. */
function addressOf(specifier: string, parent: string): string {
  if (specifier.startsWith('file:')) return specifier.replace(marker, '');
  const isRelative = parent !== '' && /^\.{0,2}\//.test(specifier);
  return isRelative && URL.canParse(specifier, parent) ? new URL(specifier, parent).href : '';
}

/** Whether a module is part of a configuration, and neither ours nor part of a package. */
function isTheirs(url: string): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/') && !isOwnModule(url);
}

function marked(url: string, generation: number): string {
  if (generation === 0 || marker.test(url)) return url;
  return `${url}${url.includes('?') ? '&' : '?'}annals=${generation}`;
}

/** Node keeps modules of CommonJS by their paths. */
function forgetRequired(): void {
  for (const [address, { format }] of generations.flatMap(({ sources }) => [...sources])) {
    if (format?.startsWith('commonjs') || format?.startsWith('json')) delete require.cache[fileURLToPath(address)];
  }
}

type Loadable = string | ArrayBuffer | NodeJS.TypedArray | null | undefined;

function textOf(source: Loadable, format: string | null | undefined): ModuleSource['source'] | null {
  if (typeof source === 'string' || source === null || source === undefined) return source ?? null;
  const bytes = source instanceof ArrayBuffer ? new Uint8Array(source) : source;
  const all = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return format === 'wasm' ? all.slice() : new TextDecoder().decode(all);
}
