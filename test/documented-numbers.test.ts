import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { maxKeys, maxOverlapSeconds } from '../config/api-keys.ts';
import { checkConfig } from '../config/check.ts';
import { maxPasswordBytes, minPasswordCharacters } from '../config/passwords.ts';
import { maxSortKeys } from '../config/sorting.ts';
import { idempotencyMilliseconds } from '../events/facts/idempotency.ts';
import { mostCharacters, mostDocuments } from '../server/documents/bulk/requests.ts';
import { previewSeconds } from '../server/documents/preview/tokens.ts';
import { unsavedDays } from '../server/documents/unsaved-changes/keeping.ts';
import { maxHops } from '../server/queries/paths.ts';
import { mostInWhere } from '../server/queries/where.ts';
import { defaultSettings } from '../server/settings/settings.ts';
import { patience as webhookPatience } from '../server/webhooks/delivery-tables.ts';

const day = 24 * 3600 * 1000;

const { host, port, keepAliveSeconds, readSeconds, cacheMiB, drainSeconds, verifyPercent } = defaultSettings;
const users = checkConfig({ collections: [{ slug: 'users', auth: true, fields: [] }] }).collections.get('users')?.auth;

/**
 * A number of the product, the same number written down here, and the sentence of the documentation that promises it.
 */
const promised: [what: string, has: unknown, is: unknown, page: string, says: RegExp][] = [
  ['an idempotency key', idempotencyMilliseconds, 7 * day, 'documents.md', /a key that is older than 7 days/],
  ['the token of a preview', previewSeconds, 900, 'rest.md', /A token is valid for 15 minutes/],
  ['unsaved changes', unsavedDays, 30, 'errors.md', /\[unsaved changes\][^|]+\|[^|]+; 30 days \|/],
  ['a webhook that fails', webhookPatience, 3 * day, 'webhooks.md', /An attempt that fails 3 days after the event/],
  [
    'documents of a bulk call',
    mostDocuments,
    1000,
    'errors.md',
    /documents in one call \| 1,000; those that it finds have 16 MiB/,
  ],
  ['characters of a bulk call', mostCharacters, 16 * 2 ** 20, 'errors.md', /those that it finds have 16 MiB together/],
  ['levels of where', mostInWhere.levels, 20, 'errors.md', /`where` \| 20 levels, 200 conditions/],
  ['conditions of where', mostInWhere.conditions, 200, 'errors.md', /20 levels, 200 conditions, 200 values in a list/],
  ['hops of where', [maxHops, mostInWhere.hops], [5, 400], 'errors.md', /5 relationships in a path, 400 in all paths/],
  ['paths of sort', maxSortKeys, 10, 'errors.md', /`sort` \| 10 paths/],
  [
    'a password',
    [minPasswordCharacters, maxPasswordBytes],
    [8, 72],
    'authentication.md',
    /at least 8 characters and at most 72 bytes/,
  ],
  ['keys', maxKeys, 1000, 'authentication.md', /There may be 1,000 keys/],
  ['a former secret of a key', maxOverlapSeconds, 604_800, 'authentication.md', /at most 604,800 seconds \(7 days\)/],
  ['a token', users?.tokenExpiration, 7200, 'configuration.md', /`tokenExpiration` \| [^|]+ \| `7200`/],
  ['failed logins', users?.maxLoginAttempts, 5, 'configuration.md', /`maxLoginAttempts` \| [^|]+ \| `5`/],
  ['a lock', users?.lockTime, 600, 'configuration.md', /`lockTime` \| [^|]+ \| `600`/],
  ['the address', [host, port], ['127.0.0.1', 4000], 'operations.md', /`ANNALS_PORT` \| `4000`/],
  ['a kept connection', keepAliveSeconds, 65, 'operations.md', /`ANNALS_KEEP_ALIVE_SECONDS` \| `65`/],
  ['a kept connection', keepAliveSeconds, 65, 'errors.md', /a connection between requests \| 65 seconds/],
  ['a drain', drainSeconds, 0, 'operations.md', /`ANNALS_DRAIN_SECONDS` \| `0`/],
  ['kept reads', cacheMiB, 32, 'operations.md', /`ANNALS_CACHE_MIB` \| `32`/],
  ['a long read', readSeconds, 2, 'operations.md', /`ANNALS_READ_SECONDS` \| `2`/],
  ['the background verification', verifyPercent, 3, 'operations.md', /`ANNALS_VERIFY_PERCENT` \| `3`/],
];

describe('A number that the documentation promises', () => {
  for (const [what, has, is, page, says] of promised) {
    it(`holds: ${what}`, () => {
      assert.deepEqual(has, is);
      const text = readFileSync(new URL(`../docs/${page}`, import.meta.url), 'utf8');
      assert.ok(says.test(text.replaceAll(/\s+/g, ' ')), `docs/${page} says nothing like ${says}`);
    });
  }
});
