import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';

const posts = '/api/collections/posts';

const service = useServiceHere({
  collections: [
    {
      slug: 'posts',
      drafts: true,
      requireReason: true,
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'stock', type: 'number' },
      ],
    },
  ],
  globals: [{ slug: 'site', drafts: true, fields: [{ name: 'name', type: 'text' }] }],
});

const reason = { 'x-change-reason': 'because' };

function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  return service.call(method, path, body, { headers: { ...reason, ...headers } });
}

async function changedPost() {
  const at = `${posts}/${(await send('POST', posts, { title: 'Public', stock: 1 })).body.id}`;
  const saved = await send('PATCH', `${at}?draft=true`, { title: 'Draft' });
  return {
    at,
    tag: saved.headers.get('etag') ?? '',
    publicTag: (await service.call('GET', at)).headers.get('etag') ?? '',
  };
}

describe('If-Match', () => {
  it('of a publication is held against the draft, and a refusal names the fields that differ', async () => {
    const { at, tag, publicTag } = await changedPost();
    const later = await send('PATCH', `${at}?draft=true`, { stock: 2 });
    const stale = await send('POST', `${at}/publish`, undefined, { 'if-match': tag });
    assert.equal(stale.status, 412);
    assert.match(stale.body.message, /^the draft has changed: it is at version 3/);
    assert.deepEqual(stale.body.fields, [{ field: 'stock', before: 1, current: 2 }]);
    assert.equal(stale.body.etag, later.headers.get('etag'));
    assert.equal((await send('POST', `${at}/publish`, undefined, { 'if-match': publicTag })).status, 412);
    assert.equal((await send('POST', `${at}/publish`, undefined, { 'if-match': stale.body.etag })).status, 200);
  });

  it('of a plain write is held against the public document, of others against the draft', async () => {
    const { at, tag, publicTag } = await changedPost();
    assert.equal((await send('PATCH', at, { stock: 2 }, { 'if-match': tag })).status, 412);
    assert.equal((await send('PATCH', `${at}?draft=true`, { stock: 3 }, { 'if-match': publicTag })).status, 412);
    assert.equal((await send('PATCH', `${at}?draft=true`, { stock: 3 }, { 'if-match': tag })).status, 200);
    assert.equal((await send('POST', `${at}/discard`, undefined, { 'if-match': tag })).status, 412);
    assert.equal((await send('DELETE', `${at}?draft=true`, undefined, { 'if-match': tag })).status, 412);
    assert.equal((await send('POST', `${at}/restore?draft=true`, { version: 1 }, { 'if-match': tag })).status, 412);
    assert.equal((await send('POST', `${at}/unpublish`, undefined, { 'if-match': tag })).status, 412);
    assert.equal((await send('PATCH', at, { stock: 2 }, { 'if-match': publicTag })).status, 200);
    const current = (await service.call('GET', at)).headers.get('etag') ?? '';
    assert.equal((await send('POST', `${at}/unpublish`, undefined, { 'if-match': current })).status, 200);
    const gone = await send('POST', `${at}/unpublish`, undefined, { 'if-match': current });
    assert.deepEqual(
      [gone.status, gone.body.message],
      [412, 'the document has been unpublished, so if-match names nothing'],
    );
  });

  it('of a global too', async () => {
    const site = '/api/globals/site';
    const saved = await send('PATCH', `${site}?draft=true`, { name: 'A' });
    const tag = saved.headers.get('etag') ?? '';
    await send('PATCH', `${site}?draft=true`, { name: 'B' });
    assert.equal((await send('POST', `${site}/publish`, undefined, { 'if-match': tag })).status, 412);
    assert.equal((await send('POST', `${site}/discard`, undefined, { 'if-match': tag })).status, 412);
  });
});

describe('A tag', () => {
  it('of a public document does not stand for a draft of the same version that differs', async () => {
    const { at } = await changedPost();
    const patched = await send('PATCH', at, { stock: 4 });
    const draft = await send('PATCH', `${at}?draft=true`, {});
    assert.deepEqual(
      [patched, draft].map(({ headers }) => headers.get('etag')?.split('-', 1)[0]),
      ['"3', '"3'],
    );
    const publicTag = patched.headers.get('etag') ?? '';
    const draftTag = draft.headers.get('etag') ?? '';
    assert.equal((await send('POST', `${at}/publish`, undefined, { 'if-match': publicTag })).status, 412);
    assert.equal((await send('PATCH', at, { stock: 5 }, { 'if-match': draftTag })).status, 412);
    const published = await send('POST', `${at}/publish`, undefined, { 'if-match': draftTag });
    assert.equal(published.status, 200);
    const equal = published.headers.get('etag') ?? '';
    assert.equal((await send('PATCH', `${at}?draft=true`, { stock: 6 }, { 'if-match': equal })).status, 200);
  });
});

describe('Idempotency-Key', () => {
  it('gives the line again that was answered, as it was', async () => {
    const { at } = await changedPost();
    for (const [index, [method, path, body]] of (
      [
        ['POST', `${posts}?draft=true`, { title: 'New' }],
        ['PATCH', `${at}?draft=true`, { stock: 5 }],
        ['PATCH', at, { stock: 6 }],
        ['POST', `${at}/discard`, undefined],
        ['PATCH', `${at}?draft=true`, { title: 'Next' }],
        ['POST', `${at}/publish`, { data: { stock: 7 } }],
        ['POST', `${at}/publish`, undefined],
        ['POST', `${at}/unpublish`, undefined],
        ['POST', `${at}/restore?draft=true`, { version: 1 }],
        ['DELETE', `${at}?draft=true`, undefined],
      ] as const
    ).entries()) {
      const headers = { 'idempotency-key': `key-${index}` };
      const first = await send(method, path, body, headers);
      assert.ok(first.status < 300, `${method} ${path} ${JSON.stringify(first.body)}`);
      if (method !== 'DELETE' && path.startsWith(at)) await send('PATCH', `${at}?draft=true`, { title: `T${index}` });
      const again = await send(method, path, body, headers);
      assert.equal(again.headers.get('idempotent-replayed'), 'true', path);
      assert.deepEqual(
        [again.status, again.body, again.headers.get('etag'), again.headers.get('location')],
        [first.status, first.body, first.headers.get('etag'), first.headers.get('location')],
        `${method} ${path}`,
      );
    }
  });

  it('does not go with a dry run', async () => {
    const { at } = await changedPost();
    const { status } = await send('POST', `${at}/publish?dryRun=true`, undefined, { 'idempotency-key': 'dry' });
    assert.equal(status, 400);
  });
});

describe('X-Change-Reason', () => {
  it('is needed where the configuration says so', async () => {
    const { at } = await changedPost();
    for (const [method, path] of [
      ['POST', `${posts}?draft=true`],
      ['PATCH', `${at}?draft=true`],
      ['POST', `${at}/publish`],
      ['POST', `${at}/unpublish`],
      ['POST', `${at}/discard`],
      ['DELETE', `${at}?draft=true`],
    ] as const) {
      const sent = path.includes('draft=true') && method !== 'DELETE' ? { title: 'x' } : undefined;
      const { status, body } = await service.call(method, path, sent);
      assert.deepEqual([status, body.errors[0].field], [400, 'x-change-reason'], path);
    }
    await send('POST', `${at}/publish`);
    const { body } = await service.call('GET', '/api/audit/events?type=document.published&limit=1');
    assert.equal(body.docs[0].context.reason, 'because');
  });
});
