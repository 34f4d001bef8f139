import { hash } from 'node:crypto';
import { blobSettingsOf } from '../files/blobs/store.ts';
import { createToldOrigins } from '../http/refused-origins.ts';
import type { Settings } from '../settings/settings.ts';
import type { Directory } from './directory.ts';

/** The name of the secret by which the command line is known to a service that runs. */
export const operatorSecret = 'operator';

/** The settings and secrets that threads are given. */
export function sharedOf(settings: Settings, { apiKeys, secrets, vault, common }: Directory) {
  const { isProduction, isDev, baseUrl, site, adminFolder } = settings;
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
    readSeconds: settings.readSeconds,
    cacheMiB: settings.cacheMiB,
  };
}
