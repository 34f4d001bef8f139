import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { checkConfig } from '../config/check.ts';
import type { Seed } from '../config/define.ts';
import type { Model } from '../config/model.ts';
import { UsageError } from './settings/settings.ts';

/** A configuration, checked, and where it came from. */
export type Loaded = { path: string; model: Model; seed: Seed | null };

const example = fileURLToPath(new URL('../examples/atlas/annals.config.ts', import.meta.url));
const defaultNames = ['annals.config.ts', 'annals.config.js', 'annals.config.mjs', 'annals.config.json'];

/**
 * Loads and checks a configuration module, or a `.json` file.
 *
 * @param path undefined: `annals.config.…` in the working directory, else the example.
 * @throws UsageError when it cannot be loaded; ConfigError when it is wrong.
 */
export async function loadConfiguration(path: string | undefined): Promise<Loaded> {
  const found = path === undefined ? (defaultNames.find((name) => existsSync(name)) ?? example) : path;
  const file = resolve(found);
  if (!existsSync(file)) throw new UsageError(`there is no configuration at ${file}`);
  const { config, seed } = file.endsWith('.json') ? readJson(file) : await importModule(file);
  return { path: file, model: checkConfig(config), seed };
}

type Module = { config: unknown; seed: Seed | null };

function readJson(file: string): Module {
  try {
    return { config: JSON.parse(readFileSync(file, 'utf8')), seed: null };
  } catch (error) {
    throw new UsageError(`${file} is not JSON: ${(error as Error).message}`);
  }
}

async function importModule(file: string): Promise<Module> {
  let module: Record<string, unknown>;
  try {
    module = await import(pathToFileURL(file).href);
  } catch (error) {
    throw new UsageError(`${file} cannot be loaded: ${(error as Error).message}`);
  }
  if (!('default' in module)) throw new UsageError(`${file} has no default export; export default defineConfig({ … })`);
  return { config: module.default, seed: typeof module.seed === 'function' ? (module.seed as Seed) : null };
}
