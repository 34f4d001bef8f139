import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { assertAllRecorded, noted, type Records } from './recorded.ts';

const service = useServiceHere({ collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] });
const document = { paths: { '/posts': { get: {}, post: {} } } };
const records: Records = {
  keyOf: (operation) => operation,
  succeeds: { 'POST /posts': ['document.created'] },
  streamOf: () => 'posts/',
};

describe('assertAllRecorded', () => {
  const create = async () => {
    const answer = await service.call('POST', '/api/collections/posts', { title: 'a' });
    return { answer, call: noted('POST /posts', answer) };
  };
  const check = (calls: Parameters<typeof assertAllRecorded>[2], more: Partial<Records> = {}) =>
    assertAllRecorded(service.data, document, calls, { ...records, ...more });

  it('gives what no call has recorded', async () => {
    const [{ call }, { answer }] = [await create(), await create()];
    const rest = check([call]).map(({ type, stream }) => `${type} ${stream}`);
    assert.deepEqual(rest, ['schema.changed system/schema', `document.created posts/${answer.body.id}`]);
  });

  it('fails for an operation that writes until it is said what it records', async () => {
    const { call } = await create();
    assert.throws(() => check([call], { succeeds: {} }), /test\/contract\/ does not say what POST \/posts records/);
  });

  it('fails if an operation has recorded nothing, something else, or in another stream', async () => {
    const { answer, call } = await create();
    assert.throws(() => check([]), /POST \/posts has never recorded "document.created"/);
    assert.throws(() => check([call], { succeeds: { 'POST /posts': ['document.updated'] } }), /and recorded "document/);
    assert.throws(() => check([call], { streamOf: () => 'notes/' }), /in posts\/.+, not in notes\//);
    assert.throws(() => check([noted('GET /posts', answer)]), /GET \/posts answered 201, and recorded/);
  });

  it('fails if a refused or repeated call has recorded something', async () => {
    const [{ call }, { answer }] = [await create(), await create()];
    const refused = noted('POST /posts', { ...answer, status: 409 });
    assert.throws(() => check([call, refused]), /POST \/posts answered 409, and recorded "document.created"/);
    const headers = new Headers({ ...Object.fromEntries(answer.headers), 'idempotent-replayed': 'true' });
    assert.throws(() => check([call, noted('POST /posts', { ...answer, headers })]), /answered 201, and recorded/);
    const late = { ...answer, status: 503, body: { message: 'the change was recorded, but there is no room' } };
    check([call, noted('POST /posts', late)]);
  });
});
