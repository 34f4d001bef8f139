import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';

const service = useServiceHere({ collections: [{ slug: 'posts', fields: [] }] });

/** The answer to a path that a route had before. */
async function refusalOf(method: string, path: string): Promise<[status: number, message: string]> {
  const { status, body } = await service.call(method, path);
  return [status, body.message];
}

describe('A path that a route had before', () => {
  it('is a 404 that names the path of today', async () => {
    assert.deepEqual(await refusalOf('GET', '/api/audit/keys'), [
      404,
      'there is no GET /api/audit/keys: it is GET /api/audit/signing-keys now',
    ]);
    assert.deepEqual(await refusalOf('POST', '/api/audit/batches/x/undo'), [
      404,
      'there is no POST /api/audit/batches/x/undo: it is POST /api/batches/x/undo now',
    ]);
    assert.equal((await service.call('GET', '/api/audit/signing-keys')).status, 200);
  });

  it('is named for this path only', async () => {
    assert.deepEqual(await refusalOf('GET', '/api/audit/keys/x'), [404, 'there is no GET /api/audit/keys/x']);
  });
});
