import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { checkConfig } from '../../config/check.ts';
import type { Seed } from '../../config/define.ts';
import type { Model } from '../../config/model.ts';
import { isFunction } from '../../config/problems.ts';
import { messageOf } from '../../storage/errors.ts';
import { ownModule } from '../platform/carried.ts';
import { loadProblem } from './load-errors.ts';
import { UsageError } from './settings.ts';

/** A configuration, checked, and where it came from. */
export type Loaded = { path: string; model: Model; seed: Seed | null };

const example = fileURLToPath(ownModule('examples/atlas/annals.config'));
/** The names of a configuration that is found where none is given. */
export const defaultNames = ['ts', 'mts', 'js', 'mjs', 'json'].map((extension) => `annals.config.${extension}`);

/** A configuration to begin with. */
export const firstConfiguration = `import { defineConfig } from 'annals';

export default defineConfig({
  collections: [
    { slug: 'notes', access: { read: () => true }, fields: [{ name: 'text', type: 'text', required: true }] },
  ],
});`;

/** The time limit for a module that awaits something, such as a secret that it fetches. */
const loadMilliseconds = 30_000;

/**
 * Loads and checks a configuration module, or a `.json` file.
 *
 * @param path undefined: `annals.config.…` in the working directory, else the example, where there is one.
 * @throws UsageError if it cannot be loaded; ConfigError if it is not valid.
 */
export async function loadConfiguration(path: string | undefined, patience = loadMilliseconds): Promise<Loaded> {
  const file = resolve(path ?? defaultNames.find((name) => existsSync(name)) ?? example);
  if (!existsSync(file)) {
    throw new UsageError(path === undefined ? noConfiguration() : `there is no configuration at ${file}`);
  }
  if (file === example) demandItsPackages();
  const { config, seed } = file.endsWith('.json') ? readJson(file) : await importModule(file, patience);
  return { path: file, model: checkConfig(config), seed };
}

/** The message without a configuration. The package, unlike the checkout and the image, has no example: it would be large. */
function noConfiguration(): string {
  const ways = 'annals init writes this one there, and --config FILE names another';
  return `there is no configuration in ${process.cwd()}: ${ways}\n\n${firstConfiguration}`;
}

/** The example is made of a package that `npm ci --omit=dev` leaves out. */
function demandItsPackages(): void {
  try {
    import.meta.resolve('world-countries/package.json');
  } catch {
    throw new UsageError(
      'the example needs the packages for development: npm ci installs them. Another configuration is named by --config FILE',
    );
  }
}

type Module = { config: unknown; seed: Seed | null };

function readJson(file: string): Module {
  try {
    return { config: JSON.parse(readFileSync(file, 'utf8')), seed: null };
  } catch (error) {
    throw new UsageError(`${file} is not JSON: ${messageOf(error)}`);
  }
}

async function importModule(file: string, patience: number): Promise<Module> {
  let module: Record<string, unknown>;
  try {
    module = await inTime(import(pathToFileURL(file).href), patience);
  } catch (error) {
    throw new UsageError(`${file} cannot be loaded: ${loadProblem(file, error)}`);
  }
  if (!('default' in module)) throw new UsageError(`${file} has no default export; export default defineConfig({ … })`);
  return { config: module.default, seed: isFunction<Seed>(module.seed) ? module.seed : null };
}

/** A module that waits forever would block the start without a reason in sight. */
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
