import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { loggedIn } from '../helpers/accounts.ts';
import { type CallOptions, type Service, startService, temporaryFolder } from '../helpers/service.ts';
import { useStarted } from '../helpers/shared.ts';
import { chief } from './helpers.ts';

const atlas = JSON.stringify(new URL('../../examples/atlas/annals.config.ts', import.meta.url).href);
const config = `
  import atlas from ${atlas};
  export { seed } from ${atlas};
  export default { ...atlas, bcryptCost: 4, rateLimit: false };
`;

/**
 * Starts the example as `npm start` serves it, with its first editor, who has made a key and invited a colleague; two
 * indexes are listed as missing.
 */
export async function startAtlas(t: TestContext): Promise<Service> {
  const data = join(temporaryFolder(t), 'data');
  mkdirSync(data, { mode: 0o700 });
  const lastAt = new Date().toISOString();
  const listed = [
    { collection: 'countries', field: 'officialName', reads: 320, slowest: 24, lastAt },
    { collection: 'countries', field: null, reads: 1, slowest: 1900, lastAt },
  ];
  writeFileSync(join(data, 'missing-indexes.json'), JSON.stringify(listed));
  const service = await startService(t, config, { data });
  const { email, password } = chief;
  await post(service, '/api/collections/editors', { email, password, name: 'Ada Lovelace', role: 'chief' });
  const scopes = [{ collections: '*', globals: '*', operations: ['read'] }];
  await post(service, '/api/keys', { name: 'The web server', scopes });
  const { as } = await loggedIn(service, chief.collection, email, password);
  await post(service, '/api/collections/editors/invite', { email: 'grace@example.org' }, as);
  return service;
}

/** One atlas for all tests of the `describe` that calls this. */
export function useAtlas(): Service {
  return useStarted(startAtlas);
}

async function post(service: Service, path: string, body: object, as?: CallOptions): Promise<void> {
  const { status, body: answer } = await service.call('POST', path, body, as);
  assert.ok(status < 300, `${path}: ${JSON.stringify(answer)}`);
}
