import { showProgress } from '../platform/progress.ts';
import type { LoadedConfiguration } from '../settings/configuration.ts';
import type { Settings } from '../settings/settings.ts';
import { StartError } from '../writer/writer.ts';
import type { Directory } from './directory.ts';

type Options = {
  loaded: Pick<LoadedConfiguration, 'seed'>;
  directory: Pick<Directory, 'generatedKey' | 'jobs'>;
  settings: Settings;
  baseUrl: string;
};

/** Runs the configuration's `seed` once in the life of a data directory; a seed that was cut short runs again. */
export async function runSeed({ loaded, directory, settings, baseUrl }: Options): Promise<void> {
  const { seed } = loaded;
  const { apiKeys, site } = settings;
  if (!seed) return;
  const apiKey = directory.generatedKey ?? (apiKeys[0] as string);
  await directory.jobs.once('seed', async () => {
    const progress = showProgress(`loading the first documents${site === null ? '' : ` of ${site}`}`);
    await seed({ baseUrl, apiKey, siteId: site, progress }).catch((error: Error) => {
      throw new StartError(
        `the first load failed: ${error.message}; run the same command again, and it goes on with it`,
      );
    });
  });
}
