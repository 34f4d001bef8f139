import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { checkConfig } from '../../config/check.ts';
import type { Seed } from '../../config/define.ts';
import type { Model } from '../../config/model.ts';
import { packageName } from '../../config/package-name.ts';
import { isFunction } from '../../config/problems.ts';
import { messageOf } from '../../storage/errors.ts';
import { ownModule } from '../platform/carried.ts';
import { loadProblem } from './load-errors.ts';
import { type ImportedModule, importModule, type ModuleSources } from './modules.ts';
import { UsageError } from './settings.ts';

/** A checked configuration and its origin: the file, and the texts of its modules. */
export type LoadedConfiguration = { path: string; model: Model; seed: Seed | null; sources: ModuleSources };

const example = fileURLToPath(ownModule('examples/atlas/annals.config', null));
/** The file names that are tried if no configuration is given. */
export const defaultNames = ['ts', 'mts', 'js', 'mjs', 'json'].map((extension) => `annals.config.${extension}`);

/** An example of a configuration to begin with. */
export const firstConfiguration = `import { defineConfig } from '${packageName}';

export default defineConfig({
  collections: [
    { slug: 'notes', access: { read: () => true }, fields: [{ name: 'text', type: 'text', required: true }] },
  ],
});`;

/** The time limit of a module that awaits something, such as a secret that it fetches. */
const loadMilliseconds = 30_000;

/**
 * Loads and checks a configuration module, or a `.json` file.
 *
 * @param path undefined: `annals.config.…` in the working directory, else the example, if there is one.
 * @throws UsageError if it cannot be loaded; ConfigError if it is not valid.
 */
export async function loadConfiguration(
  path: string | undefined,
  patience = loadMilliseconds,
): Promise<LoadedConfiguration> {
  const file = resolve(path ?? defaultNames.find((name) => existsSync(name)) ?? example);
  if (!existsSync(file)) {
    throw new UsageError(path === undefined ? noConfiguration() : `there is no configuration at ${file}`);
  }
  if (file === example) demandItsPackages();
  return load(file, { kept: null, isAgain: false, patience });
}

/**
 * Loads and checks a configuration from the texts that another thread, or an earlier start of this one, has read,
 * whatever its files hold by now. Data that its modules read themselves is read again.
 *
 * @param path the file of the configuration.
 * @throws UsageError, ConfigError as {@link loadConfiguration}.
 */
export function loadKept(path: string, sources: ModuleSources): Promise<LoadedConfiguration> {
  return load(path, { kept: sources, isAgain: true, patience: loadMilliseconds });
}

/**
 * Loads and checks a configuration as its files are now, even if this thread has loaded it before. @throws as {@link
 * loadConfiguration}.
 */
export function loadAgain(path: string): Promise<LoadedConfiguration> {
  return load(path, { kept: null, isAgain: true, patience: loadMilliseconds });
}

/** `kept`: the texts to use in place of the files. `isAgain`: loads modules anew that this thread has loaded before. */
type How = { kept: ModuleSources | null; isAgain: boolean; patience: number };

async function load(file: string, how: How): Promise<LoadedConfiguration> {
  const { config, seed, sources } = file.endsWith('.json') ? readJson(file, how.kept) : await read(file, how);
  return { path: file, model: checkConfig(config), seed, sources };
}

/**
 * The message if there is no configuration. Unlike the checkout and the image, the package has no example, which would
 * be large.
 */
function noConfiguration(): string {
  const ways = 'annals init writes this one there, and --config FILE names another';
  return `there is no configuration in ${process.cwd()}: ${ways}\n\n${firstConfiguration}`;
}

/** The example needs a package that `npm ci --omit=dev` leaves out. */
function demandItsPackages(): void {
  try {
    import.meta.resolve('world-countries/package.json');
  } catch {
    throw new UsageError(
      'the example needs the packages for development: npm ci installs them. Another configuration is named by --config FILE',
    );
  }
}

type Module = { config: unknown; seed: Seed | null; sources: ModuleSources };

function readJson(file: string, kept: ModuleSources | null): Module {
  const address = pathToFileURL(file).href;
  try {
    const source = kept?.get(address)?.source ?? readFileSync(file, 'utf8');
    return {
      config: JSON.parse(String(source)),
      seed: null,
      sources: new Map([[address, { format: 'json', source }]]),
    };
  } catch (error) {
    throw new UsageError(`${file} is not JSON: ${messageOf(error)}`);
  }
}

async function read(file: string, { kept, isAgain, patience }: How): Promise<Module> {
  let imported: ImportedModule;
  try {
    imported = await inTime(importModule(file, kept, isAgain), patience);
  } catch (error) {
    throw new UsageError(`${file} cannot be loaded: ${loadProblem(file, error)}`);
  }
  const { module, sources } = imported;
  if (!('default' in module)) throw new UsageError(`${file} has no default export; export default defineConfig({ … })`);
  return { config: module.default, seed: isFunction<Seed>(module.seed) ? module.seed : null, sources };
}

/** A module that waits for ever would block the start without a visible reason. */
async function inTime<T>(loading: Promise<T>, milliseconds: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const message = `what it waits for did not come within ${milliseconds / 1000} seconds`;
  const timer = setTimeout(() => late.reject(new Error(message)), milliseconds);
  try {
    return await Promise.race([loading, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
