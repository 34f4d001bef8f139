import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError } from '../../config/check.ts';
import type { Model } from '../../config/model.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { loadConfiguration } from '../../server/settings/configuration.ts';
import { type Settings, UsageError } from '../../server/settings/settings.ts';
import { openReadable } from '../read-only-copy.ts';
import { checkDisk } from './disk.ts';
import { checkNames, type DoctorFinding, postgresCheckNames } from './findings.ts';
import { checkIndexes } from './indexes.ts';
import { checkLog } from './log.ts';
import { checkBaseUrl, checkMail, checkSecrets } from './settings.ts';

/** `annals doctor`: exit 0 healthy, 1 something is to be mended, 2 could not run. */
export async function doctor({ settings, flags }: CommandLine<{ json: 'boolean' }>): Promise<number> {
  const directory = resolve(settings.data);
  if (!existsSync(directory) || !statSync(directory).isDirectory())
    throw new UsageError(`there is no data directory at ${directory}; --data names it, and the first start makes it`);
  const findings = await examine({ ...settings, data: directory });
  const isHealthy = findings.every(({ status }) => status !== 'trouble');
  const text = flags.json ? JSON.stringify({ isHealthy, findings }) : linesOf(findings).join('\n');
  process.stdout.write(`${text}\n`);
  return isHealthy ? 0 : 1;
}

async function examine(settings: Settings): Promise<DoctorFinding[]> {
  const model = await modelOf(settings);
  const findings = [
    ...checkDisk(settings.data),
    ...checkLogIn(settings.data),
    checkSecrets(settings),
    await checkBaseUrl(settings),
    await checkMail(settings, model),
    ...checkIndexes(settings.data, model),
    ...(settings.log === undefined ? [] : await (await import('./postgres.ts')).checkPostgres(settings.log)),
  ];
  return [...checkNames, ...postgresCheckNames].flatMap((name) => findings.filter(({ check }) => check === name));
}

function checkLogIn(data: string): DoctorFinding[] {
  const { directory, done } = openReadable(data, false);
  try {
    return checkLog(directory, Date.now());
  } finally {
    done();
  }
}

async function modelOf({ config }: Settings): Promise<Model | null> {
  try {
    return (await loadConfiguration(config)).model;
  } catch (error) {
    if (error instanceof ConfigError || error instanceof UsageError) return null;
    throw error;
  }
}

function linesOf(findings: readonly DoctorFinding[]): string[] {
  const width = Math.max(...findings.map(({ check }) => check.length));
  return findings.map(
    ({ check, status, message }) => `${status.padEnd('trouble'.length)}  ${check.padEnd(width)}  ${message}`,
  );
}
