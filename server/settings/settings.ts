import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { didYouMean } from '../../config/suggest.ts';
import { readSites, siteCalled } from '../sites/file.ts';
import { type Flags, type FlagValues, readFlags } from './flags.ts';
import type { ObjectSetting } from './objects.ts';
import {
  canShareAPort,
  nonEmpty,
  readBaseUrl,
  readBoolean,
  readBucketName,
  readDays,
  readEndpoint,
  readList,
  readLogLevel,
  readPort,
  readSender,
  readSmtpUrl,
  readThreads,
  readWebhook,
} from './readers.ts';

/** Thrown for a wrong command line or environment; one problem per line. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** Where the service runs: ports, paths and secrets. What it serves is the configuration's business. */
export type Settings = {
  /** Path of the configuration module; undefined: `annals.config.ts` in the working directory, else the example. */
  config: string | undefined;
  data: string;
  host: string;
  port: number;
  /** Threads that answer requests. */
  threads: number;
  /** Where clients reach the service, without a slash at the end; undefined: its own address. */
  baseUrl: string | undefined;
  /** Empty: one is generated. */
  apiKeys: string[];
  /** The first signs, all verify. Empty: one is generated. */
  secrets: string[];
  logLevel: string;
  /** How mail goes out, before what the configuration says; undefined: as that says. The URL holds a password. */
  smtpUrl: string | undefined;
  mailFrom: string | undefined;
  /** The bucket that uploads are kept in; undefined: a folder of the data directory. Its keys are secret. */
  bucket: BucketSettings | undefined;
  /** Where each checkpoint is posted; undefined: nowhere. The URL may hold a secret. */
  webhook: string | undefined;
  /** `NODE_ENV=production`. */
  isProduction: boolean;
  /** Which of the sites of a process these are the settings of; null where there is but one, without a name. */
  site: string | null;
  /** The sites that one process serves, each with settings of its own; null where it is no more than one. */
  sites: readonly SiteSettings[] | null;
};

/** The settings of one of several sites. */
export type SiteSettings = Settings & { site: string };

/** How a bucket of S3 is reached. `endpoint` has no path. */
export type BucketSettings = {
  endpoint: string;
  name: string;
  region: string;
  accessKey: string;
  secretKey: string;
  pathStyle: boolean;
  /** For so many days Object Lock is to keep each checkpoint; undefined: as the bucket has it. */
  checkpointDays?: number;
};

type Setting = {
  name: keyof Settings;
  /** Which part of `bucket`. */
  part?: keyof BucketSettings;
  flag?: string;
  environment: string;
  read: (text: string, source: string) => SettingValue;
  /** Beside a file of sites: said there and not here, or here for those sites that say nothing; absent: the process's own. */
  ofSite?: 'only' | 'default';
};

/** A setting as it has been read, by itself. */
export type SettingValue = string | number | boolean | string[];

const sitesVariable = 'ANNALS_SITES';

/** One entry per setting: the flag, the environment variable (also as `…_FILE`), and how its text is read. */
const settings: readonly Setting[] = [
  { name: 'config', flag: 'config', environment: 'ANNALS_CONFIG', read: nonEmpty, ofSite: 'default' },
  { name: 'data', flag: 'data', environment: 'ANNALS_DATA', read: nonEmpty, ofSite: 'default' },
  { name: 'host', flag: 'host', environment: 'ANNALS_HOST', read: nonEmpty },
  { name: 'port', flag: 'port', environment: 'ANNALS_PORT', read: readPort },
  { name: 'threads', flag: 'threads', environment: 'ANNALS_THREADS', read: readThreads },
  { name: 'baseUrl', environment: 'ANNALS_BASE_URL', read: readBaseUrl, ofSite: 'default' },
  { name: 'apiKeys', environment: 'ANNALS_API_KEY', read: readList, ofSite: 'only' },
  { name: 'secrets', environment: 'ANNALS_SECRET', read: readList, ofSite: 'only' },
  { name: 'logLevel', environment: 'ANNALS_LOG_LEVEL', read: readLogLevel },
  { name: 'smtpUrl', environment: 'ANNALS_SMTP_URL', read: readSmtpUrl, ofSite: 'default' },
  { name: 'mailFrom', environment: 'ANNALS_MAIL_FROM', read: readSender, ofSite: 'default' },
  { name: 'bucket', part: 'endpoint', environment: 'ANNALS_S3_ENDPOINT', read: readEndpoint, ofSite: 'only' },
  { name: 'bucket', part: 'name', environment: 'ANNALS_S3_BUCKET', read: readBucketName, ofSite: 'only' },
  { name: 'bucket', part: 'region', environment: 'ANNALS_S3_REGION', read: nonEmpty, ofSite: 'only' },
  { name: 'bucket', part: 'accessKey', environment: 'ANNALS_S3_ACCESS_KEY', read: nonEmpty, ofSite: 'only' },
  { name: 'bucket', part: 'secretKey', environment: 'ANNALS_S3_SECRET_KEY', read: nonEmpty, ofSite: 'only' },
  { name: 'bucket', part: 'pathStyle', environment: 'ANNALS_S3_PATH_STYLE', read: readBoolean, ofSite: 'only' },
  { name: 'bucket', part: 'checkpointDays', environment: 'ANNALS_S3_CHECKPOINT_DAYS', read: readDays, ofSite: 'only' },
  { name: 'webhook', environment: 'ANNALS_CHECKPOINT_WEBHOOK', read: readWebhook, ofSite: 'default' },
  { name: 'sites', environment: sitesVariable, read: nonEmpty },
];

/** What holds where nobody says anything. */
export const defaultSettings: Settings = {
  config: undefined,
  data: 'data',
  host: '127.0.0.1',
  port: 4000,
  threads: canShareAPort ? availableParallelism() : 1,
  baseUrl: undefined,
  apiKeys: [],
  secrets: [],
  logLevel: 'info',
  smtpUrl: undefined,
  mailFrom: undefined,
  bucket: undefined,
  webhook: undefined,
  isProduction: false,
  site: null,
  sites: null,
};

/** What a command is given: `words` are what stands without a flag, one for each that it asks for. */
export type Given<F extends Flags> = {
  settings: Settings;
  flags: { [name in keyof F]?: FlagValues[F[name]] };
  words: string[];
};

/**
 * Reads the settings of a command: its flags win over the environment, the environment over the defaults.
 *
 * @param takes the settings that the command has a flag for.
 * @param words what must stand without a flag, by the names of the usage, for example `COLLECTION`.
 * @throws UsageError naming every unknown flag, every unknown or wrong `ANNALS_…` variable, and every word that is
 *   missing or too many.
 */
export function readSettings<const F extends Flags = Record<never, never>>(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  takes: readonly (keyof Settings)[],
  flags?: F,
  words: readonly string[] = [],
): Given<F> {
  const problems: string[] = [];
  const own = settings.filter(({ name, flag }) => flag && takes.includes(name));
  // Who takes all sites has no need to be told which.
  const isForOne = !takes.includes('sites');
  const known: Flags = {
    help: 'boolean',
    ...flags,
    ...Object.fromEntries(own.map(({ flag }) => [flag, 'string'])),
    ...(isForOne && { site: 'string' }),
  };
  const { values, positionals } = readFlags(args, known, problems);
  for (const word of positionals.slice(words.length)) problems.push(`unexpected argument ${JSON.stringify(word)}`);
  for (const name of words.slice(positionals.length)) problems.push(`${name} is missing`);
  const variables = readEnvironment(environment, problems);
  const flagged = readFlagged(own, values, problems);
  const given = {
    ...defaultSettings,
    isProduction: environment.NODE_ENV === 'production',
    ...readVariables(variables, flagged, problems),
  };
  const read: Settings = isForOne
    ? { ...oneSite(given, variables, values.site, problems), ...flagged }
    : allSites({ ...given, ...flagged }, variables, problems);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return { settings: read, flags: values as Given<F>['flags'], words: positionals };
}

/** @param flagged what flags say: the same variables are not looked at. */
function readVariables(given: Record<string, string>, flagged: object, problems: string[]): Partial<Settings> {
  const result: Record<string, unknown> = {};
  const bucket: Record<string, unknown> = {};
  for (const { name, part, environment, read, ofSite } of settings) {
    const text = given[environment];
    if (text === undefined || name === 'sites' || name in flagged) continue;
    if (ofSite === 'only' && sitesVariable in given) {
      problems.push(`${environment} and ${sitesVariable} are both set: it belongs to a site, in the file of sites`);
      continue;
    }
    noting(problems, () => {
      const value = read(text, environment);
      if (part) bucket[part] = value;
      else result[name] = value;
    });
  }
  if (Object.keys(bucket).length > 0) result.bucket = wholeBucket(bucket, given, problems);
  return result;
}

function readFlagged(
  own: readonly Setting[],
  values: Record<string, unknown>,
  problems: string[],
): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const { name, flag = '', read } of own) {
    const text = values[flag];
    if (typeof text === 'string') noting(problems, () => Object.assign(result, { [name]: read(text, `--${flag}`) }));
  }
  return result;
}

function noting(problems: string[], run: () => void): void {
  try {
    run();
  } catch (error) {
    problems.push((error as Error).message);
  }
}

/** With the sites that the file names, if there is one. */
function allSites(common: Settings, variables: Record<string, string>, problems: string[]): Settings {
  const path = variables[sitesVariable];
  if (path === undefined) return common;
  if (path.trim() === '') problems.push(`${sitesVariable} is empty`);
  else return { ...common, sites: readSites(path, siteSettings(), common, problems) };
  return common;
}

/** The settings of the site that a command is for. */
function oneSite(common: Settings, variables: Record<string, string>, id: unknown, problems: string[]): Settings {
  const before = problems.length;
  const { sites } = allSites(common, variables, problems);
  if (sites) {
    // What is wrong with the file is worth more than that a site is not found in it.
    if (problems.length > before) return common;
    return siteCalled(sites, id, problems) ?? common;
  }
  if (id !== undefined && problems.length === before)
    problems.push(`--site names one of the sites of ${sitesVariable}, which is not set`);
  return common;
}

/** What can be said of a site in the file, and how it is read. */
function siteSettings(): ObjectSetting[] {
  return settings.filter(({ ofSite }) => ofSite).map(described);
}

/** What can be said by who embeds a service, and how it is read. */
export function embeddedSettings(): ObjectSetting[] {
  return settings.filter(({ name, ofSite }) => ofSite || name === 'logLevel').map(described);
}

function described({ name, part, read }: Setting): ObjectSetting {
  return {
    name,
    part,
    key: part ?? name,
    isNeeded: part !== undefined && !(part in bucketDefaults) && !optionalParts.includes(part),
    byDefault: part === undefined ? undefined : (bucketDefaults as Record<string, SettingValue>)[part],
    read,
  };
}

function readEnvironment(environment: NodeJS.ProcessEnv, problems: string[]): Record<string, string> {
  const known = settings.map(({ environment: variable }) => variable);
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith('ANNALS_') || value === undefined) continue;
    const variable = name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : name;
    if (!known.includes(variable)) {
      problems.push(`unknown environment variable ${name}${didYouMean(name, known)}; known: ${known.join(', ')}`);
    } else if (name !== variable && environment[variable] !== undefined) {
      problems.push(`${variable} and ${name} are both set; set one of them`);
    } else if (name === variable) result[variable] = value;
    else {
      try {
        result[variable] = readFileSync(value, 'utf8').trim();
      } catch {
        problems.push(`${name}: the file ${value} cannot be read`);
      }
    }
  }
  return result;
}

/** One part of a bucket makes all of those necessary that have no default. */
function wholeBucket(parts: object, given: Record<string, string>, problems: string[]): object {
  const known = settings.filter(({ part }) => part);
  const first = known.find(({ environment }) => environment in given);
  for (const { part = '', environment } of known) {
    if (environment in given || part in bucketDefaults || optionalParts.includes(part)) continue;
    problems.push(`${environment} is missing: with ${first?.environment} uploads are kept in a bucket`);
  }
  return { ...bucketDefaults, ...parts };
}

const bucketDefaults = { region: 'us-east-1', pathStyle: true };
/** Parts that may be left out, and have no default. */
const optionalParts = ['checkpointDays'];
