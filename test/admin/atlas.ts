import assert from 'node:assert/strict';
import { before } from 'node:test';
import { loggedIn } from '../helpers/accounts.ts';
import type { CallOptions, Service } from '../helpers/service.ts';
import { useService } from '../helpers/shared.ts';
import { chief } from './helpers.ts';

const atlas = JSON.stringify(new URL('../../examples/atlas/annals.config.ts', import.meta.url).href);
const config = `
  import atlas from ${atlas};
  export { seed } from ${atlas};
  export default { ...atlas, bcryptCost: 4, rateLimit: false };
`;

/** The example as `npm start` serves it, with its first editor, who has made a key and invited a colleague. */
export function useAtlas(): Service {
  const service = useService(config);
  before(async () => {
    await post(service, '/api/collections/editors', { ...account, name: 'Ada', role: 'chief' });
    await post(service, '/api/keys', {
      name: 'The web server',
      scopes: [{ collections: '*', globals: '*', operations: ['read'] }],
    });
    const { as } = await loggedIn(service, chief.collection, chief.email, chief.password);
    await post(service, '/api/collections/editors/invite', { email: 'grace@example.org' }, as);
  });
  return service;
}

const account = { email: chief.email, password: chief.password };

async function post(service: Service, path: string, body: object, as?: CallOptions) {
  const { status, body: answer } = await service.call('POST', path, body, as);
  assert.ok(status < 300, `${path}: ${JSON.stringify(answer)}`);
}
