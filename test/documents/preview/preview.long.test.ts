import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { anonymous } from '../../helpers/accounts.ts';
import { startService } from '../../helpers/service.ts';

const config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' as const }] }] };

describe('The draft of a preview', () => {
  it('is there after a crash', async (t) => {
    const service = await startService(t, config);
    const { id } = (await service.call('POST', '/api/collections/posts', { title: 'stored' })).body;
    const draft = { collection: 'posts', id, data: { title: 'survives' } };
    const { token } = (await service.call('POST', '/api/preview-token', draft)).body;
    await service.kill();
    const again = await startService(t, config, { data: service.data });
    const shown = await again.call('GET', `/api/preview-data?token=${token}`, undefined, anonymous);
    assert.deepEqual(shown.body, draft);
  });
});
