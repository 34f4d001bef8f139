import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';
import { recordedEvents } from '../../helpers/shared.ts';

const posts = '/api/collections/posts';
const service = useServiceHere({
  collections: [{ slug: 'posts', drafts: true, fields: [{ name: 'title', type: 'text', required: true }] }],
});

describe('a publication of 1,000 drafts', () => {
  it('is one batch, next to each other in the log', async (t) => {
    const docs = Array.from({ length: 1000 }, (_, index) => ({ title: `t${index}` }));
    const made = await service.call('POST', `${posts}/bulk`, { docs });
    const ids = made.body.results.map(({ id }: { id: string }) => id);
    const changed = await service.call('POST', `${posts}/bulk/update?draft=true`, { ids, data: { title: 'New' } });
    assert.equal(changed.body.changed, 1000);
    const where = { __status: { equals: 'changed' } };
    const start = performance.now();
    const published = await service.call('POST', `${posts}/bulk/publish`, { where });
    t.diagnostic(`published in ${Math.round(performance.now() - start)} ms`);
    assert.deepEqual([published.status, published.body.changed], [200, 1000]);
    const events = recordedEvents(service.data).filter(({ batch }) => batch === published.body.batch);
    assert.equal(events.length, 1000);
    assert.equal(Number(events.at(-1)?.position) - Number(events[0]?.position), 999);
    const { body } = await service.call('GET', `${posts}/count?where[title][equals]=New`);
    assert.equal(body.total, 1000);
  });
});
