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
  /** How many seconds requests are answered after SIGTERM, while `/ready` says that the service stops. */
  drainSeconds: number;
  /** How many seconds a connection is kept open for the next request. */
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
  /** The mail server; undefined: the configuration's. The URL holds a password. */
  smtpUrl: string | undefined;
  mailFrom: string | undefined;
  /** The bucket that keeps uploads, with its secret keys; undefined: a folder of the data directory keeps them. */
  bucket: BucketSettings | undefined;
  /** The secret of `/metrics`; undefined: `metricsAddress` needs none, and elsewhere `/metrics` is not served. */
  metricsToken: string | undefined;
  /** A separate address for `/metrics`; undefined: the address of the service. */
  metricsAddress: string | undefined;
  /** Where each checkpoint is posted; undefined: nowhere. The URL may hold a secret. */
  webhook: string | undefined;
  /** Whether the webhook may be at an address that is not public. */
  webhookAllowPrivate: boolean;
  /** The time-stamp authority (RFC 3161) that is asked; undefined: none. The URL may hold a secret. */
  tsaUrl: string | undefined;
  /** Whether the authority may be at an address that is not public. */
  tsaAllowPrivate: boolean;
  /** Certificates in PEM that the authority's certificate must chain to; undefined: any certificate is accepted. */
  tsaCa: string | undefined;
  /** The witnesses that cosign checkpoints, each as `VERIFIER-KEY=URL`. A URL may hold a secret. */
  witnesses: string[];
  /** Whether witnesses may be at addresses that are not public. */
  witnessAllowPrivate: boolean;
  /** How many seconds a read that no index serves may work, and how many it may wait in the queue. */
  readSeconds: number;
  /** How many MiB each thread may use to keep documents and pages that were read. */
  cacheMiB: number;
  /** Whether to start with a clock that is more than a day behind the last event. */
  acceptClock: boolean;
  /** Whether the format of the log is changed without a backup before it. */
  noBackup: boolean;
  /** The share of one core for the background verification of the log, from 0 (off) to 100 (without a pause). */
  verifyPercent: number;
  /** `NODE_ENV=production`. */
  isProduction: boolean;
  /** Whether `annals dev` runs the service, which reports reloads itself. */
  isDev: boolean;
  /** Where the built admin application is looked for, in tests; undefined: where the installation has it. */
  adminFolder: string | undefined;
  /** The id of the site of these settings; null if the process serves a single site, which has no name. */
  site: string | null;
  /**
   * The address of the log in PostgreSQL that several nodes append to; undefined: the log is in the data directory. It
   * holds a password.
   */
  log: string | undefined;
  /** The name of this node among the nodes of the log; undefined: one is generated and kept in the data directory. */
  node: string | undefined;
  /** Whether a node applies a configuration that differs from the log's without waiting for `annals schema apply`. */
  applySchema: boolean;
  /** The writes that a read on a node waits for; undefined: `linear`. */
  reads: Reads | undefined;
  /** The sites of the process, each with its own settings; null for a single site. */
  sites: readonly SiteSettings[] | null;
};

/** The writes that a read on a node waits for before it is answered. */
export type Reads =
  /** All writes that any node had acknowledged before. */
  | 'linear'
  /** The position that the client names. */
  | 'session'
  /** Nothing. */
  | 'eventual';

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
  /** The part of `bucket` that it sets. */
  part?: keyof BucketSettings;
  flag?: string;
  environment: string;
  /** Its type in JSON; absent: `string`. The flag of a boolean setting takes no value. */
  kind?: SettingKind;
  read: (text: string, source: string) => SettingValue;
  /**
   * `only`: with a file of sites it is set only in that file. `default`: here it is the default for all sites. Absent:
   * it is a setting of the process.
   */
  ofSite?: 'only' | 'default';
};

/** The type of a setting in JSON: a list is a list of texts. */
type SettingKind = 'string' | 'list' | 'boolean' | 'number';

/** The value of a single setting. */
export type SettingValue = string | number | boolean | string[];

/** The variable that names the file of sites. */
export const sitesVariable = 'ANNALS_SITES';

const boolean = { kind: 'boolean', read: readBoolean } as const;

/** How a setting is given, as in {@link Setting}. */
type Entry = Omit<Setting, 'name' | 'part'>;

/** Members of {@link Settings} that are not set by a flag or a variable of our own. */
type DerivedSetting = 'isProduction' | 'isDev' | 'adminFolder' | 'site';

/** The parts of the setting `bucket`, in the order of messages. */
const bucketParts: Record<keyof BucketSettings, Entry> = {
  endpoint: { environment: 'ANNALS_S3_ENDPOINT', read: readEndpoint, ofSite: 'only' },
  name: { environment: 'ANNALS_S3_BUCKET', read: readBucketName, ofSite: 'only' },
  region: { environment: 'ANNALS_S3_REGION', read: nonEmpty, ofSite: 'only' },
  accessKey: { environment: 'ANNALS_S3_ACCESS_KEY', read: nonEmpty, ofSite: 'only' },
  secretKey: { environment: 'ANNALS_S3_SECRET_KEY', read: nonEmpty, ofSite: 'only' },
  pathStyle: { environment: 'ANNALS_S3_PATH_STYLE', ...boolean, ofSite: 'only' },
  checkpointDays: { environment: 'ANNALS_S3_CHECKPOINT_DAYS', kind: 'number', read: readDays, ofSite: 'only' },
  localRetentionBytes: {
    environment: 'ANNALS_S3_LOCAL_RETENTION_BYTES',
    kind: 'number',
    read: readBytes,
    ofSite: 'only',
  },
};

/**
 * One entry per setting, in the order of messages: the flag, the environment variable (also as `…_FILE`), and how its
 * text is read. The compiler asks for the entry of a new setting here, and for its value in {@link defaultSettings};
 * `test/settings/settings.test.ts` asks for it in the usage of `annals serve`, in the documentation, and, if it is one
 * of an embedded service, in the options of that.
 */
const entries: Record<Exclude<keyof Settings, DerivedSetting | 'bucket'>, Entry> & { bucket: typeof bucketParts } = {
  config: { flag: 'config', environment: 'ANNALS_CONFIG', read: nonEmpty, ofSite: 'default' },
  data: { flag: 'data', environment: 'ANNALS_DATA', read: nonEmpty, ofSite: 'default' },
  host: { flag: 'host', environment: 'ANNALS_HOST', read: nonEmpty },
  port: { flag: 'port', environment: 'ANNALS_PORT', read: readPort },
  threads: { flag: 'threads', environment: 'ANNALS_THREADS', read: readThreads },
  drainSeconds: { flag: 'drain-seconds', environment: 'ANNALS_DRAIN_SECONDS', kind: 'number', read: readDrainSeconds },
  keepAliveSeconds: { environment: 'ANNALS_KEEP_ALIVE_SECONDS', kind: 'number', read: readKeepAliveSeconds },
  baseUrl: { environment: 'ANNALS_BASE_URL', read: readBaseUrl, ofSite: 'default' },
  apiKeys: { environment: 'ANNALS_API_KEY', kind: 'list', read: readList, ofSite: 'only' },
  secrets: { environment: 'ANNALS_SECRET', kind: 'list', read: readList, ofSite: 'only' },
  logLevel: { environment: 'ANNALS_LOG_LEVEL', read: readLogLevel },
  strictSchema: { flag: 'strict-schema', environment: 'ANNALS_STRICT_SCHEMA', ...boolean, ofSite: 'default' },
  acceptLoss: { flag: 'accept-loss', environment: 'ANNALS_ACCEPT_LOSS', ...boolean, ofSite: 'default' },
  smtpUrl: { environment: 'ANNALS_SMTP_URL', read: readSmtpUrl, ofSite: 'default' },
  mailFrom: { environment: 'ANNALS_MAIL_FROM', read: readSender, ofSite: 'default' },
  bucket: bucketParts,
  webhook: { environment: 'ANNALS_CHECKPOINT_WEBHOOK', read: readWebhook, ofSite: 'default' },
  webhookAllowPrivate: { environment: 'ANNALS_CHECKPOINT_WEBHOOK_ALLOW_PRIVATE', ...boolean, ofSite: 'default' },
  tsaUrl: { environment: 'ANNALS_TSA_URL', read: readWebhook, ofSite: 'default' },
  tsaAllowPrivate: { environment: 'ANNALS_TSA_ALLOW_PRIVATE', ...boolean, ofSite: 'default' },
  tsaCa: { environment: 'ANNALS_TSA_CA', read: readCertificates, ofSite: 'default' },
  witnesses: { environment: 'ANNALS_WITNESSES', kind: 'list', read: readWitnesses, ofSite: 'default' },
  witnessAllowPrivate: { environment: 'ANNALS_WITNESS_ALLOW_PRIVATE', ...boolean, ofSite: 'default' },
  log: { environment: 'ANNALS_POSTGRES_URL', read: readLogAddress },
  node: { environment: 'ANNALS_NODE', read: readNodeName },
  applySchema: { flag: 'apply-schema', environment: 'ANNALS_APPLY_SCHEMA', ...boolean },
  reads: { environment: 'ANNALS_READS', read: readReads },
  readSeconds: { environment: 'ANNALS_READ_SECONDS', kind: 'number', read: readReadSeconds },
  cacheMiB: { environment: 'ANNALS_CACHE_MIB', kind: 'number', read: readCacheMiB },
  metricsToken: { environment: 'ANNALS_METRICS_TOKEN', read: readMetricsToken },
  metricsAddress: { environment: 'ANNALS_METRICS_ADDRESS', read: readMetricsAddress },
  acceptClock: { flag: 'accept-clock', environment: 'ANNALS_ACCEPT_CLOCK', ...boolean, ofSite: 'default' },
  noBackup: { flag: 'no-backup', environment: 'ANNALS_NO_BACKUP', ...boolean, ofSite: 'default' },
  verifyPercent: { environment: 'ANNALS_VERIFY_PERCENT', kind: 'number', read: readPercent },
  sites: { environment: sitesVariable, read: nonEmpty },
};

/** All settings; those of the bucket by its parts. */
export const settings: readonly Setting[] = Object.entries({ ...entries, bucket: null }).flatMap(([key, entry]) => {
  // The keys of `entries` are names of settings, and those of `bucketParts` parts of a bucket.
  const name = key as keyof Settings;
  if (entry) return { name, ...entry };
  return Object.entries(bucketParts).map(([part, own]) => ({ name, part: part as keyof BucketSettings, ...own }));
});

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
