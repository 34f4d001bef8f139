import { availableParallelism } from 'node:os';
import type { ObjectSetting } from './objects.ts';
import {
  canShareAPort,
  nonEmpty,
  readBaseUrl,
  readBoolean,
  readBucketName,
  readCertificates,
  readDays,
  readEndpoint,
  readList,
  readLogLevel,
  readPercent,
  readPort,
  readSender,
  readSmtpUrl,
  readThreads,
  readWebhook,
  readWitnesses,
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
  /** Threads that answer requests; 0: the main thread does. */
  threads: number;
  /** Where clients reach the service, without a slash at the end; undefined: its own address. */
  baseUrl: string | undefined;
  /** Empty: one is generated. */
  apiKeys: string[];
  /** The first signs, all verify. Empty: one is generated. */
  secrets: string[];
  logLevel: string;
  /** Whether a start is refused whose configuration changes what documents answer. */
  strictSchema: boolean;
  /** How mail goes out, before what the configuration says; undefined: as that says. The URL holds a password. */
  smtpUrl: string | undefined;
  mailFrom: string | undefined;
  /** The bucket that uploads are kept in; undefined: a folder of the data directory. Its keys are secret. */
  bucket: BucketSettings | undefined;
  /** Where each checkpoint is posted; undefined: nowhere. The URL may hold a secret. */
  webhook: string | undefined;
  /** The time-stamp authority (RFC 3161) that is asked; undefined: none. The URL may hold a secret. */
  tsaUrl: string | undefined;
  /** Certificates in PEM, one of which its own has to lead up to; undefined: any will do. */
  tsaCa: string | undefined;
  /** Who cosigns checkpoints, each as `VERIFIER-KEY=URL`. A URL may hold a secret. */
  witnesses: string[];
  /** Whether it starts where the clock is behind the last event by more than a day. */
  acceptClock: boolean;
  /** How much of one core going through the log again and again may take, from 0, not at all, to 100, without a rest. */
  verifyPercent: number;
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

/** A setting of the process. */
export type Setting = {
  name: keyof Settings;
  /** Which part of `bucket`. */
  part?: keyof BucketSettings;
  flag?: string;
  environment: string;
  /** What it is in JSON, `string` where that is absent; the flag of one that is boolean takes no value. */
  kind?: SettingKind;
  read: (text: string, source: string) => SettingValue;
  /** Beside a file of sites: said there and not here, or here for those sites that say nothing; absent: the process's own. */
  ofSite?: 'only' | 'default';
};

/** What a setting is in JSON: a list is one of texts. */
export type SettingKind = 'string' | 'list' | 'boolean' | 'number';

/** A setting as it has been read, by itself. */
export type SettingValue = string | number | boolean | string[];

/** The variable that names the file of sites. */
export const sitesVariable = 'ANNALS_SITES';

/** One entry per setting: the flag, the environment variable (also as `…_FILE`), and how its text is read. */
export const settings: readonly Setting[] = [
  { name: 'config', flag: 'config', environment: 'ANNALS_CONFIG', read: nonEmpty, ofSite: 'default' },
  { name: 'data', flag: 'data', environment: 'ANNALS_DATA', read: nonEmpty, ofSite: 'default' },
  { name: 'host', flag: 'host', environment: 'ANNALS_HOST', read: nonEmpty },
  { name: 'port', flag: 'port', environment: 'ANNALS_PORT', read: readPort },
  { name: 'threads', flag: 'threads', environment: 'ANNALS_THREADS', read: readThreads },
  { name: 'baseUrl', environment: 'ANNALS_BASE_URL', read: readBaseUrl, ofSite: 'default' },
  { name: 'apiKeys', environment: 'ANNALS_API_KEY', kind: 'list', read: readList, ofSite: 'only' },
  { name: 'secrets', environment: 'ANNALS_SECRET', kind: 'list', read: readList, ofSite: 'only' },
  { name: 'logLevel', environment: 'ANNALS_LOG_LEVEL', read: readLogLevel },
  {
    name: 'strictSchema',
    flag: 'strict-schema',
    environment: 'ANNALS_STRICT_SCHEMA',
    kind: 'boolean',
    read: readBoolean,
    ofSite: 'default',
  },
  { name: 'smtpUrl', environment: 'ANNALS_SMTP_URL', read: readSmtpUrl, ofSite: 'default' },
  { name: 'mailFrom', environment: 'ANNALS_MAIL_FROM', read: readSender, ofSite: 'default' },
  { name: 'bucket', part: 'endpoint', environment: 'ANNALS_S3_ENDPOINT', read: readEndpoint, ofSite: 'only' },
  { name: 'bucket', part: 'name', environment: 'ANNALS_S3_BUCKET', read: readBucketName, ofSite: 'only' },
  { name: 'bucket', part: 'region', environment: 'ANNALS_S3_REGION', read: nonEmpty, ofSite: 'only' },
  { name: 'bucket', part: 'accessKey', environment: 'ANNALS_S3_ACCESS_KEY', read: nonEmpty, ofSite: 'only' },
  { name: 'bucket', part: 'secretKey', environment: 'ANNALS_S3_SECRET_KEY', read: nonEmpty, ofSite: 'only' },
  {
    name: 'bucket',
    part: 'pathStyle',
    environment: 'ANNALS_S3_PATH_STYLE',
    kind: 'boolean',
    read: readBoolean,
    ofSite: 'only',
  },
  {
    name: 'bucket',
    part: 'checkpointDays',
    environment: 'ANNALS_S3_CHECKPOINT_DAYS',
    kind: 'number',
    read: readDays,
    ofSite: 'only',
  },
  { name: 'webhook', environment: 'ANNALS_CHECKPOINT_WEBHOOK', read: readWebhook, ofSite: 'default' },
  { name: 'tsaUrl', environment: 'ANNALS_TSA_URL', read: readWebhook, ofSite: 'default' },
  { name: 'tsaCa', environment: 'ANNALS_TSA_CA', read: readCertificates, ofSite: 'default' },
  { name: 'witnesses', environment: 'ANNALS_WITNESSES', kind: 'list', read: readWitnesses, ofSite: 'default' },
  {
    name: 'acceptClock',
    flag: 'accept-clock',
    environment: 'ANNALS_ACCEPT_CLOCK',
    kind: 'boolean',
    read: readBoolean,
    ofSite: 'default',
  },
  { name: 'verifyPercent', environment: 'ANNALS_VERIFY_PERCENT', kind: 'number', read: readPercent },
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
  strictSchema: false,
  smtpUrl: undefined,
  mailFrom: undefined,
  bucket: undefined,
  webhook: undefined,
  tsaUrl: undefined,
  tsaCa: undefined,
  witnesses: [],
  acceptClock: false,
  verifyPercent: 3,
  isProduction: false,
  site: null,
  sites: null,
};

/** What can be said of a site in the file, and how it is read. */
export function siteSettings(): ObjectSetting[] {
  return settings.filter(({ ofSite }) => ofSite).map(inObject);
}

/** What is said once for all sites, and by who embeds a service too. */
const ofProcess: (keyof Settings)[] = ['logLevel', 'verifyPercent'];

/** What can be said by who embeds a service, and how it is read. */
export function embeddedSettings(): ObjectSetting[] {
  return settings.filter(({ name, ofSite }) => ofSite || ofProcess.includes(name)).map(inObject);
}

function inObject({ name, part, kind = 'string', read }: Setting): ObjectSetting {
  return {
    name,
    part,
    key: part ?? name,
    isNeeded: part !== undefined && isNeeded(part),
    byDefault: part === undefined ? undefined : (bucketDefaults as Record<string, SettingValue>)[part],
    kind,
    read,
  };
}

/** What of a bucket holds where nobody says it. */
export const bucketDefaults = { region: 'us-east-1', pathStyle: true };
/** Parts that may be left out, and have no default. */
const optionalParts = ['checkpointDays'];

/** True for a part without which a bucket is none. */
export function isNeeded(part: keyof BucketSettings): boolean {
  return !(part in bucketDefaults) && !optionalParts.includes(part);
}
