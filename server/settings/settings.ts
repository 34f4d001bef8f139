import { availableParallelism } from 'node:os';
import {
  canShareAPort,
  nonEmpty,
  readBaseUrl,
  readBoolean,
  readBucketName,
  readBytes,
  readCacheMiB,
  readCertificates,
  readDays,
  readDrainSeconds,
  readEndpoint,
  readKeepAliveSeconds,
  readList,
  readLogAddress,
  readLogLevel,
  readMetricsAddress,
  readMetricsToken,
  readNodeName,
  readPercent,
  readPort,
  readReadSeconds,
  readReads,
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

/** The settings of a service: ports, paths and secrets. The configuration has its content. */
export type Settings = {
  /** Path of the configuration module; undefined: `annals.config.ts` in the working directory, else the example. */
  config: string | undefined;
  data: string;
  host: string;
  port: number;
  /** Workers that answer requests; 0: the main thread does. */
  threads: number;
  /** How long requests are answered after SIGTERM, while `/ready` says that the service stops. */
  drainSeconds: number;
  /** How long a connection is kept open for the next request. */
  keepAliveSeconds: number;
  /** Where clients reach the service, without a slash at the end; undefined: its own address. */
  baseUrl: string | undefined;
  /** Empty: one is generated. */
  apiKeys: string[];
  /** The first signs, all verify. Empty: one is generated. */
  secrets: string[];
  logLevel: string;
  /** Whether to refuse a start with a configuration that changes the answers for existing documents. */
  strictSchema: boolean;
  /** Whether to start with a configuration by which documents show less than before. */
  acceptLoss: boolean;
  /** The mail server, in place of the configuration's; undefined: that one. The URL holds a password. */
  smtpUrl: string | undefined;
  mailFrom: string | undefined;
  /** The bucket that uploads are kept in; undefined: a folder of the data directory. Its keys are secret. */
  bucket: BucketSettings | undefined;
  /** The secret of `/metrics`; undefined: it needs none at its own address, and is not served without one. */
  metricsToken: string | undefined;
  /** An address of its own for `/metrics`; undefined: that of the service. */
  metricsAddress: string | undefined;
  /** Where each checkpoint is posted; undefined: nowhere. The URL may hold a secret. */
  webhook: string | undefined;
  /** Whether that may be an address that is not a public one. */
  webhookAllowPrivate: boolean;
  /** The time-stamp authority (RFC 3161) that is asked; undefined: none. The URL may hold a secret. */
  tsaUrl: string | undefined;
  /** Whether that may be an address that is not a public one. */
  tsaAllowPrivate: boolean;
  /** Certificates in PEM that its certificate must chain to; undefined: any is accepted. */
  tsaCa: string | undefined;
  /** The witnesses that cosign checkpoints, each as `VERIFIER-KEY=URL`. A URL may hold a secret. */
  witnesses: string[];
  /** Whether those may be addresses that are not public. */
  witnessAllowPrivate: boolean;
  /** How many seconds a read may take that no index serves, and wait for its turn. */
  readSeconds: number;
  /** How many MiB each thread may take to keep documents and pages that were read. */
  cacheMiB: number;
  /** Whether to start with a clock that is more than a day behind the last event. */
  acceptClock: boolean;
  /** Whether the format of the log is changed without a backup before it. */
  noBackup: boolean;
  /** The share of one core for the background verification of the log, from 0 (off) to 100 (without a pause). */
  verifyPercent: number;
  /** `NODE_ENV=production`. */
  isProduction: boolean;
  /** Whether `annals dev` runs the service, and tells of reloads itself. */
  isDev: boolean;
  /** Where the built admin application is looked for, in tests; undefined: where the installation has it. */
  adminFolder: string | undefined;
  /** The id of the site of these settings; null for a single site, which has no name. */
  site: string | null;
  /**
   * The address of the log in PostgreSQL that several nodes append to; undefined: the log is in the data directory. It
   * holds a password.
   */
  log: string | undefined;
  /** The name of this node among those of the log; undefined: one is made up, and kept in the data directory. */
  node: string | undefined;
  /** Whether a node applies a configuration that differs from that of the log by itself. */
  applySchema: boolean;
  /** How much of what other nodes have written a read sees; undefined: `linear`. */
  reads: Reads | undefined;
  /** The sites of the process, each with its own settings; null for a single site. */
  sites: readonly SiteSettings[] | null;
};

/**
 * How much a read on a node waits for: `linear`, all that was acknowledged before, by any node; `session`, the position
 * that the client names; `eventual`, nothing.
 */
export type Reads = 'linear' | 'session' | 'eventual';

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
  /** The days for which Object Lock protects each checkpoint; undefined: the default of the bucket. */
  checkpointDays?: number;
  /** The bytes of segments of the log that stay on this machine; undefined: all. */
  localRetentionBytes?: number;
};

/** A setting of the process. */
export type Setting = {
  name: keyof Settings;
  /** Which part of `bucket`. */
  part?: keyof BucketSettings;
  flag?: string;
  environment: string;
  /** Its type in JSON; absent: `string`. The flag of a boolean setting takes no value. */
  kind?: SettingKind;
  read: (text: string, source: string) => SettingValue;
  /** With a file of sites: set only there, or here as the default for all sites; absent: a setting of the process. */
  ofSite?: 'only' | 'default';
};

/** The type of a setting in JSON: a list is a list of texts. */
export type SettingKind = 'string' | 'list' | 'boolean' | 'number';

/** A setting as it has been read, by itself. */
export type SettingValue = string | number | boolean | string[];

/** The variable that names the file of sites. */
export const sitesVariable = 'ANNALS_SITES';

const boolean = { kind: 'boolean', read: readBoolean } as const;

/** One entry per setting: the flag, the environment variable (also as `…_FILE`), and how its text is read. */
export const settings: readonly Setting[] = [
  { name: 'config', flag: 'config', environment: 'ANNALS_CONFIG', read: nonEmpty, ofSite: 'default' },
  { name: 'data', flag: 'data', environment: 'ANNALS_DATA', read: nonEmpty, ofSite: 'default' },
  { name: 'host', flag: 'host', environment: 'ANNALS_HOST', read: nonEmpty },
  { name: 'port', flag: 'port', environment: 'ANNALS_PORT', read: readPort },
  { name: 'threads', flag: 'threads', environment: 'ANNALS_THREADS', read: readThreads },
  {
    name: 'drainSeconds',
    flag: 'drain-seconds',
    environment: 'ANNALS_DRAIN_SECONDS',
    kind: 'number',
    read: readDrainSeconds,
  },
  {
    name: 'keepAliveSeconds',
    environment: 'ANNALS_KEEP_ALIVE_SECONDS',
    kind: 'number',
    read: readKeepAliveSeconds,
  },
  { name: 'baseUrl', environment: 'ANNALS_BASE_URL', read: readBaseUrl, ofSite: 'default' },
  { name: 'apiKeys', environment: 'ANNALS_API_KEY', kind: 'list', read: readList, ofSite: 'only' },
  { name: 'secrets', environment: 'ANNALS_SECRET', kind: 'list', read: readList, ofSite: 'only' },
  { name: 'logLevel', environment: 'ANNALS_LOG_LEVEL', read: readLogLevel },
  { name: 'strictSchema', flag: 'strict-schema', environment: 'ANNALS_STRICT_SCHEMA', ...boolean, ofSite: 'default' },
  { name: 'acceptLoss', flag: 'accept-loss', environment: 'ANNALS_ACCEPT_LOSS', ...boolean, ofSite: 'default' },
  { name: 'smtpUrl', environment: 'ANNALS_SMTP_URL', read: readSmtpUrl, ofSite: 'default' },
  { name: 'mailFrom', environment: 'ANNALS_MAIL_FROM', read: readSender, ofSite: 'default' },
  { name: 'bucket', part: 'endpoint', environment: 'ANNALS_S3_ENDPOINT', read: readEndpoint, ofSite: 'only' },
  { name: 'bucket', part: 'name', environment: 'ANNALS_S3_BUCKET', read: readBucketName, ofSite: 'only' },
  { name: 'bucket', part: 'region', environment: 'ANNALS_S3_REGION', read: nonEmpty, ofSite: 'only' },
  { name: 'bucket', part: 'accessKey', environment: 'ANNALS_S3_ACCESS_KEY', read: nonEmpty, ofSite: 'only' },
  { name: 'bucket', part: 'secretKey', environment: 'ANNALS_S3_SECRET_KEY', read: nonEmpty, ofSite: 'only' },
  { name: 'bucket', part: 'pathStyle', environment: 'ANNALS_S3_PATH_STYLE', ...boolean, ofSite: 'only' },
  {
    name: 'bucket',
    part: 'checkpointDays',
    environment: 'ANNALS_S3_CHECKPOINT_DAYS',
    kind: 'number',
    read: readDays,
    ofSite: 'only',
  },
  {
    name: 'bucket',
    part: 'localRetentionBytes',
    environment: 'ANNALS_S3_LOCAL_RETENTION_BYTES',
    kind: 'number',
    read: readBytes,
    ofSite: 'only',
  },
  { name: 'webhook', environment: 'ANNALS_CHECKPOINT_WEBHOOK', read: readWebhook, ofSite: 'default' },
  {
    name: 'webhookAllowPrivate',
    environment: 'ANNALS_CHECKPOINT_WEBHOOK_ALLOW_PRIVATE',
    ...boolean,
    ofSite: 'default',
  },
  { name: 'tsaUrl', environment: 'ANNALS_TSA_URL', read: readWebhook, ofSite: 'default' },
  { name: 'tsaAllowPrivate', environment: 'ANNALS_TSA_ALLOW_PRIVATE', ...boolean, ofSite: 'default' },
  { name: 'tsaCa', environment: 'ANNALS_TSA_CA', read: readCertificates, ofSite: 'default' },
  { name: 'witnesses', environment: 'ANNALS_WITNESSES', kind: 'list', read: readWitnesses, ofSite: 'default' },
  { name: 'witnessAllowPrivate', environment: 'ANNALS_WITNESS_ALLOW_PRIVATE', ...boolean, ofSite: 'default' },
  { name: 'log', environment: 'ANNALS_POSTGRES_URL', read: readLogAddress },
  { name: 'node', environment: 'ANNALS_NODE', read: readNodeName },
  { name: 'applySchema', flag: 'apply-schema', environment: 'ANNALS_APPLY_SCHEMA', ...boolean },
  { name: 'reads', environment: 'ANNALS_READS', read: readReads },
  {
    name: 'readSeconds',
    environment: 'ANNALS_READ_SECONDS',
    kind: 'number',
    read: readReadSeconds,
  },
  { name: 'cacheMiB', environment: 'ANNALS_CACHE_MIB', kind: 'number', read: readCacheMiB },
  { name: 'metricsToken', environment: 'ANNALS_METRICS_TOKEN', read: readMetricsToken },
  { name: 'metricsAddress', environment: 'ANNALS_METRICS_ADDRESS', read: readMetricsAddress },
  { name: 'acceptClock', flag: 'accept-clock', environment: 'ANNALS_ACCEPT_CLOCK', ...boolean, ofSite: 'default' },
  { name: 'noBackup', flag: 'no-backup', environment: 'ANNALS_NO_BACKUP', ...boolean, ofSite: 'default' },
  { name: 'verifyPercent', environment: 'ANNALS_VERIFY_PERCENT', kind: 'number', read: readPercent },
  { name: 'sites', environment: sitesVariable, read: nonEmpty },
];

/** The default settings. */
export const defaultSettings: Settings = {
  config: undefined,
  data: 'data',
  host: '127.0.0.1',
  port: 4000,
  threads: canShareAPort ? availableParallelism() : 1,
  drainSeconds: 0,
  keepAliveSeconds: 65,
  baseUrl: undefined,
  apiKeys: [],
  secrets: [],
  logLevel: 'info',
  strictSchema: false,
  acceptLoss: false,
  smtpUrl: undefined,
  mailFrom: undefined,
  bucket: undefined,
  metricsToken: undefined,
  metricsAddress: undefined,
  webhook: undefined,
  webhookAllowPrivate: false,
  tsaUrl: undefined,
  tsaAllowPrivate: false,
  tsaCa: undefined,
  witnesses: [],
  witnessAllowPrivate: false,
  readSeconds: 2,
  cacheMiB: 32,
  acceptClock: false,
  noBackup: false,
  verifyPercent: 3,
  isProduction: false,
  isDev: false,
  adminFolder: undefined,
  log: undefined,
  node: undefined,
  applySchema: false,
  reads: undefined,
  site: null,
  sites: null,
};

/** The settings that the file of sites can have for a site. */
export const siteSettings: readonly Setting[] = settings.filter(({ ofSite }) => ofSite);

/** Settings of the process that an embedded service has too. */
const ofProcess: (keyof Settings)[] = ['logLevel', 'verifyPercent', 'readSeconds', 'cacheMiB'];

/** The settings of an embedded service. */
export const embeddedSettings: readonly Setting[] = settings.filter(
  ({ name, ofSite }) => ofSite || ofProcess.includes(name),
);

/** The defaults of a bucket. */
export const bucketDefaults = { region: 'us-east-1', pathStyle: true };
/** Optional parts without a default. */
const optionalParts = ['checkpointDays', 'localRetentionBytes'];

/** True for a part that a bucket requires. */
export function isNeeded(part: keyof BucketSettings): boolean {
  return !(part in bucketDefaults) && !optionalParts.includes(part);
}
