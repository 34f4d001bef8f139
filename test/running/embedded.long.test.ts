import { describe, it } from 'node:test';
import { assertEnds } from './host-script.ts';

const config = { publicSchema: true, collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };

describe('mount', () => {
  it('leaves nothing running and no trace in the environment, also if it has made its description', (t) =>
    assertEnds(t, config, { path: '/api/openapi.json', told: 'JSON.parse(result).servers[0].url', expected: '/cms' }));
});
