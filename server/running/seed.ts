import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { privateFile } from '../../storage/private.ts';
import { showProgress } from '../platform/progress.ts';
import type { Loaded } from '../settings/configuration.ts';
import type { Settings } from '../settings/settings.ts';
import { StartError } from '../writer/writer.ts';
import type { Directory } from './directory.ts';

type Options = { loaded: Pick<Loaded, 'seed'>; directory: Directory; settings: Settings; baseUrl: string };

/** Runs the configuration's `seed` once in the life of a data directory; one that was cut short is run again. */
export async function runSeed({ loaded, directory, settings, baseUrl }: Options): Promise<void> {
  const { seed } = loaded;
  const { apiKeys, site } = settings;
  const marker = join(directory.path, 'seeded');
  if (!seed || existsSync(marker)) return;
  const apiKey = directory.generatedKey ?? (apiKeys[0] as string);
  const progress = showProgress(`loading the first documents${site === null ? '' : ` of ${site}`}`);
  await seed({ baseUrl, apiKey, siteId: site, progress }).catch((error: Error) => {
    throw new StartError(`the first load failed, the next start goes on with it: ${error.message}`);
  });
  writeFileSync(marker, `${new Date().toISOString()}\n`, { mode: privateFile });
}
