import { resolve } from 'node:path';
import type { Config } from '../../../config/define.ts';
import { show } from '../../../config/suggest.ts';
import { keysOf, type ObjectPlace, objectIn, readObjectSettings } from '../../settings/objects.ts';
import { defaultSettings, embeddedSettings, type Settings, UsageError } from '../../settings/settings.ts';

/**
 * The options of a service inside of another server. The environment is the server's: no `ANNALS_…` variable is read.
 */
export type ServiceOptions = {
  /** The configuration, or the path of its module. A relative path is relative to the working directory. */
  config: string | Config;
  /** The data directory; made if it is missing. */
  data: string;
  /** Where clients reach the service, for example `https://example.org/cms`. Links in mails begin with it. */
  baseUrl: string;
  /** The path below which requests come here, if a proxy changes the path of `baseUrl`. */
  path?: string;
  /** Without any, one is generated and kept in the data directory. */
  apiKeys?: readonly string[];
  /** For the tokens of sessions: the first signs, all verify. Without any, one is generated and kept. */
  secrets?: readonly string[];
  smtpUrl?: string;
  mailFrom?: string;
  /** The bucket of S3 that uploaded files are kept in; without one, a folder of the data directory. */
  bucket?: BucketOptions;
  /** Where each checkpoint is posted. */
  webhook?: string;
  /** Whether the webhook may be at an address that is not public; default false. */
  webhookAllowPrivate?: boolean;
  /** The time-stamp authority (RFC 3161) that attests when a checkpoint existed. */
  tsaUrl?: string;
  /** Whether the authority may be at an address that is not public; default false. */
  tsaAllowPrivate?: boolean;
  /** Certificates in PEM that the authority's certificate must chain to; by default any certificate is accepted. */
  tsaCa?: string;
  /** Witnesses that cosign checkpoints, each as `VERIFIER-KEY=URL`. */
  witnesses?: readonly string[];
  /** Whether witnesses may be at addresses that are not public; default false. */
  witnessAllowPrivate?: boolean;
  /** Refuse a configuration that changes what documents answer; default false. */
  strictSchema?: boolean;
  /** Start with a configuration by which documents show less than before; default false. */
  acceptLoss?: boolean;
  /** Start even if the clock is over a day behind the last event; recorded times stand still until it catches up. */
  acceptClock?: boolean;
  /** Bring a log of an earlier format to the present one without a backup before; default false. */
  noBackup?: boolean;
  /** The share of one core for the background verification of the log, in percent; 0: no verification; default 3. */
  verifyPercent?: number;
  /** How many seconds a read may work that no index serves; default 2. */
  readSeconds?: number;
  /** How many MiB may be used to keep documents and pages that were read; 0: none are kept; default 32. */
  cacheMiB?: number;
  /** Default `info`. */
  logLevel?: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'silent';
  /** Gets each line of the log, a JSON object and a line feed; default: standard error. */
  logger?: LineSink;
};

/** How a bucket of S3 is reached. */
export type BucketOptions = {
  endpoint: string;
  name: string;
  /** Default `us-east-1`. */
  region?: string;
  accessKey: string;
  secretKey: string;
  /** Default true. */
  pathStyle?: boolean;
  /** For how many days Object Lock protects each checkpoint; by default as the bucket says. */
  checkpointDays?: number;
  /** The bytes of segments of the log that stay on this machine; by default all. */
  localRetentionBytes?: number;
};

/** The destination of log lines: a stream, or any object with such a function. */
export type LineSink = { write: (line: string) => unknown };

/** Options that have been read. */
export type EmbeddedSettings = {
  settings: Settings & { baseUrl: string };
  config: string | object;
  /** The path below which requests come, without a slash at the end: empty, or for example `/cms`. */
  path: string;
  logger: LineSink;
};

const needed = ['config', 'data', 'baseUrl'];

/** @throws UsageError naming every option that is missing, unknown or wrong; it shows no secret. */
export function readOptions(options: unknown): EmbeddedSettings {
  const place: ObjectPlace = { at: 'options', problems: [] };
  const { problems } = place;
  const said = objectIn(options, [...keysOf(embeddedSettings), 'path', 'logger'], place) ?? {};
  // An optional value may be undefined.
  const given = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
  for (const key of needed) if (!(key in given)) problems.push(`options.${key} is missing`);
  const { config, path, logger, ...rest } = given;
  const isObject = typeof config === 'object' && config !== null;
  const texts = readObjectSettings(isObject ? rest : { ...rest, ...(config !== undefined && { config }) }, place, {
    settings: embeddedSettings,
    base: resolve(),
  });
  const sink = logger === undefined ? process.stderr : sinkIn(logger);
  if (!sink)
    problems.push(`options.logger must be a stream, or an object with a function "write", got ${show(logger)}`);
  if (path !== undefined && !(typeof path === 'string' && /^(\/[^/?#\s]+)*\/?$/.test(path)))
    problems.push(`options.path must be a path such as "/cms", got ${show(path)}`);
  if (!sink || problems.length > 0) throw new UsageError(problems.join('\n'));
  const isProduction = process.env.NODE_ENV === 'production';
  const read = { ...defaultSettings, isProduction, ...texts } as EmbeddedSettings['settings'];
  return {
    settings: read,
    config: isObject ? config : String(read.config),
    path: (typeof path === 'string' ? path : new URL(read.baseUrl).pathname).replace(/\/+$/, ''),
    logger: sink,
  };
}

function sinkIn(value: unknown): LineSink | null {
  const sink = value as LineSink | null;
  return typeof sink?.write === 'function' ? sink : null;
}
