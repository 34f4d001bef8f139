import type { Flags } from '../server/settings/flags.ts';

// The flags of commands that have many, for the table of commands and for the functions that run them.

/** Of a command that has settings alone. */
export type NoFlags = Record<never, never>;

/** Flags that choose events. */
const filterFlags = { collection: 'string', stream: 'string', type: 'string', actor: 'string' } satisfies Flags;

export const eventsFlags = {
  ...filterFlags,
  batch: 'string',
  from: 'string',
  to: 'string',
  json: 'boolean',
} satisfies Flags;

const archiveFlags = { out: 'string', force: 'boolean', since: 'list', reason: 'string' } satisfies Flags;

export const exportFlags = {
  ...archiveFlags,
  from: 'string',
  to: 'string',
  format: 'string',
  ...filterFlags,
} satisfies Flags;

export const bundleFlags = { ...archiveFlags, 'no-files': 'boolean', complete: 'boolean' } satisfies Flags;

export const contentExportFlags = {
  out: 'string',
  format: 'string',
  'as-of': 'string',
  where: 'string',
  fields: 'string',
  'no-files': 'boolean',
  config: 'string',
  'accept-clock': 'boolean',
} satisfies Flags;

export const importFlags = {
  draft: 'boolean',
  format: 'string',
  upsert: 'string',
  'dry-run': 'boolean',
  'drop-missing': 'boolean',
  reason: 'string',
  state: 'string',
  files: 'string',
} satisfies Flags;

export const backupFlags = {
  out: 'string',
  force: 'boolean',
  recipient: 'list',
  to: 'string',
  s3: 'string',
  plain: 'boolean',
  every: 'string',
  keep: 'string',
  follow: 'boolean',
} satisfies Flags;

export const restoreFlags = { to: 'string', identity: 'string', erasures: 'string', s3: 'string' } satisfies Flags;

export const rebuildFlags = {
  check: 'boolean',
  'accept-lost-events': 'boolean',
  'accept-foreign-writes': 'boolean',
  reason: 'string',
} satisfies Flags;

export const configCheckFlags = {
  site: 'string',
  against: 'string',
  rules: 'boolean',
  'strict-schema': 'boolean',
  'accept-loss': 'boolean',
} satisfies Flags;

export const moveFlags = {
  to: 'string',
  'to-file': 'string',
  'without-postgres': 'boolean',
  reason: 'string',
} satisfies Flags;

export const verifyBlobsFlags = {
  record: 'boolean',
  reason: 'string',
  config: 'string',
  'accept-clock': 'boolean',
} satisfies Flags;

export const createKeyFlags = { name: 'string', scope: 'list', audit: 'string', expires: 'string' } satisfies Flags;
