import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { checkConfig } from '../../config/check.ts';
import type { Seed } from '../../config/define.ts';
import type { Model } from '../../config/model.ts';
import { isFunction } from '../../config/problems.ts';
import { messageOf } from '../../storage/errors.ts';
import { ownModule } from '../platform/package.ts';
import { loadProblem } from './load-errors.ts';
import { UsageError } from './settings.ts';

/** A configuration, checked, and where it came from. */
export type Loaded = { path: string; model: Model; seed: Seed | null };

const example = fileURLToPath(ownModule('../../examples/atlas/annals.config.ts', import.meta.url));
const defaultNames = ['ts', 'mts', 'js', 'mjs', 'json'].map((extension) => `annals.config.${extension}`);

/** How long a module may wait for something before it has its configuration, a secret that is fetched for example. */
const loadMilliseconds = 30_000;

/**
 * Loads and checks a configuration module, or a `.json` file.
 *
 * @param path undefined: `annals.config.…` in the working directory, else the example, where there is one.
 * @throws UsageError when it cannot be loaded; ConfigError when it is wrong.
 */
export async function loadConfiguration(path: string | undefined, patience = loadMilliseconds): Promise<Loaded> {
  const file = resolve(path ?? defaultNames.find((name) => existsSync(name)) ?? example);
  if (!existsSync(file)) {
    throw new UsageError(path === undefined ? firstConfiguration() : `there is no configuration at ${file}`);
  }
  const { config, seed } = file.endsWith('.json') ? readJson(file) : await importModule(file, patience);
  return { path: file, model: checkConfig(config), seed };
}

/** What is told where there is no configuration. The example is in the checkout and the image: the package would be large by it. */
function firstConfiguration(): string {
  return [
    `there is no configuration in ${process.cwd()}: put this into annals.config.ts there, or name one by --config`,
    '',
    "import { defineConfig } from 'annals';",
    '',
    'export default defineConfig({',
    '  collections: [',
    "    { slug: 'notes', access: { read: () => true }, fields: [{ name: 'text', type: 'text', required: true }] },",
    '  ],',
    '});',
  ].join('\n');
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

/** A module that waits for what never comes would keep everything waiting that needs it, and nobody would know why. */
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
