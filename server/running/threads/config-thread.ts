import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { checkReload, type ReloadFindings } from '../../../projections/start/dry-start.ts';
import { messageOf } from '../../../storage/errors.ts';
import { loadConfiguration } from '../../settings/configuration.ts';
import { type ModuleSources, recordedSources } from '../../settings/modules.ts';

/**
 * The start data of the thread that loads a configuration to check it: the file, and the data directory of the service.
 */
export type CheckInput = { config: string; directory: string };

/** The result of the check; `sources` are the modules that were read, also for a wrong configuration. */
export type CheckResult = { sources: ModuleSources } & (({ problem: null } & ReloadFindings) | { problem: string });

const { config, directory }: CheckInput = workerData;
(parentPort as MessagePort).postMessage(await check());
process.exit(0);

async function check(): Promise<CheckResult> {
  try {
    const { model, sources } = await loadConfiguration(config);
    const { schema, rules } = model;
    return { problem: null, sources, ...checkReload(directory, { schema, rules }) };
  } catch (error) {
    return { problem: messageOf(error), sources: recordedSources() };
  }
}
