import { hash } from 'node:crypto';
import type { Categories } from '../../events/service-events/categories.ts';
import type { RowMarks } from '../../projections/tables/row-marks.ts';
import type { BlobSettings } from '../../storage/blobs.ts';
import { blobSettingsOf } from '../files/blobs/store.ts';
import { createToldOrigins } from '../http/refused-origins.ts';
import type { StateCell } from '../platform/state.ts';
import type { Credentials, ToldOrigins } from '../ports.ts';
import type { SharedSearch } from '../queries/search-index.ts';
import type { Reads, Settings } from '../settings/settings.ts';
import type { Directory } from './directory.ts';

/** The start data of each thread that answers requests; they can be sent to another thread. */
export type ThreadData = {
  /** The categories of collections that were renamed. */
  categories: Categories;
  readFile: string;
  /** The search index; null if nothing is indexed, or the index is not kept up to date. */
  search?: SharedSearch;
  logFile: string;
  /** For {@link createIds}: all threads make their ids from one counter. */
  counter: BigInt64Array<SharedArrayBuffer>;
  /** For {@link createClock}. */
  clockCell: BigInt64Array<SharedArrayBuffer>;
  /** For {@link keepRows}. */
  marks: RowMarks;
  state: StateCell;
  credentials: Credentials;
  idempotencySecret: string;
  /** The kind of reads of a node; null for a service with a log of its own. */
  reads: Reads | null;
  baseUrl: string | null;
  /** The id of the site; null if the process serves only one. */
  site: string | null;
  toldOrigins: ToldOrigins;
  isProduction: boolean;
  /** For {@link App}. */
  tellsErrors?: boolean;
  /** For {@link App}. */
  adminFolder?: string | undefined;
  blobs: BlobSettings;
  /** How many seconds a read may take that no index serves. */
  readSeconds: number;
  /** The memory that a thread may take to keep what was read, in MiB. */
  cacheMiB: number;
};

/** The name of the secret by which a running service knows the command line. */
export const operatorSecret = 'operator';

type FromSettings = Omit<
  ThreadData,
  'categories' | 'readFile' | 'search' | 'logFile' | 'counter' | 'clockCell' | 'marks' | 'state'
>;

/** The start data of threads that come from settings and secrets. */
export function threadSettings(settings: Settings, { apiKeys, secrets, vault, common }: Directory): FromSettings {
  const { isProduction, isDev, baseUrl, site, adminFolder, readSeconds, cacheMiB } = settings;
  const operatorHash = hash('sha256', vault.secret(operatorSecret), 'buffer');
  return {
    credentials: { apiKeys, secrets, operatorHash },
    idempotencySecret: common.secret('attempts'),
    reads: settings.log === undefined ? null : (settings.reads ?? 'linear'),
    isProduction,
    tellsErrors: isDev && !isProduction,
    adminFolder,
    site,
    baseUrl: baseUrl ?? null,
    toldOrigins: createToldOrigins(),
    blobs: blobSettingsOf(settings),
    readSeconds,
    cacheMiB,
  };
}
