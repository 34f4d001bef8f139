import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { useServiceHere } from '../helpers/embedded.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { errorsOf, recordedEvents } from '../helpers/shared.ts';

const service = useServiceHere(`export default {
  bcryptCost: 4,
  collections: [
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }] },
    { slug: 'laws', requireReason: true, fields: [{ name: 'text', type: 'text', required: true }], access: { create: ({ data }) => data.text !== 'no' } },
    { slug: 'people', auth: true, requireReason: true, fields: [] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'name', type: 'text' }] }],
}`);

/** The actors and reasons of the events of a stream. */
function reasonsOf(stream: string): (string | undefined)[] {
  const db = new Database(join(service.data, 'log.db'), { readonly: true });
  const rows = db.prepare('SELECT body FROM events JOIN payloads USING (position) WHERE stream = ? ORDER BY version');
  const bodies = rows.pluck().all(stream) as string[];
  db.close();
  return bodies.map((body) => JSON.parse(body).context.reason);
}

const because = (reason: string) => ({ headers: { 'x-change-reason': reason } });

describe('X-Change-Reason', () => {
  it('is kept in the payload of what a write records, and nowhere in its header', async () => {
    const { body } = await service.call('POST', '/api/collections/posts', { title: 'a' }, because('  first draft '));
    const path = `/api/collections/posts/${body.id}`;
    await service.call('PATCH', path, { title: 'b' }, because('Grüße'));
    await service.call('PATCH', path, { title: 'c' }, because(Buffer.from('Größe – 大').toString('latin1')));
    await service.call('PATCH', path, { title: 'd' }, because("UTF-8''%e5%a4%a7%20%F0%9F%8C%8D"));
    await service.call('PATCH', path, { title: 'e' });
    await service.call('DELETE', path, undefined, because("utf-8'de'weg"));
    const stream = `posts/${body.id}`;
    assert.deepEqual(reasonsOf(stream), ['first draft', 'Grüße', 'Größe – 大', '大 🌍', undefined, 'weg']);
    assert.doesNotMatch(JSON.stringify(recordedEvents(service.data, stream)), /draft/);
    assert.equal((await service.call('PATCH', '/api/globals/site', { name: 'x' }, because('why not'))).status, 200);
    assert.deepEqual(reasonsOf('globals/site'), ['why not']);
  });

  it('is 400 unless it is a text of 1 to 500 characters in one line', async () => {
    const wrong: Record<string, string> = {
      '   ': 'x-change-reason must not be empty',
      "UTF-8''": 'x-change-reason must not be empty',
      ['a'.repeat(501)]: 'x-change-reason must be at most 500 characters, got 501',
      "UTF-8''%ff": 'x-change-reason must be percent-encoded UTF-8 after UTF-8\'\', got "%ff"',
      "UTF-8''a%0Ab": 'x-change-reason must be one line without control characters, got "a\\nb"',
    };
    for (const [reason, message] of Object.entries(wrong)) {
      const answer = await service.call('POST', '/api/collections/posts', { title: 'a' }, because(reason));
      assert.deepEqual([answer.status, errorsOf(answer)], [400, { 'x-change-reason': message }]);
    }
    // Characters, not bytes or UTF-16 units.
    const long = `UTF-8''${encodeURIComponent('🌍'.repeat(500))}`;
    assert.equal((await service.call('POST', '/api/collections/posts', {}, because(long))).status, 201);
  });

  it('is needed if requireReason says so, by API keys too, once the caller may write at all', async () => {
    const refused = await service.call('POST', '/api/collections/laws', { text: 'a' });
    assert.equal(refused.status, 400);
    assert.deepEqual(errorsOf(refused), {
      'x-change-reason': 'x-change-reason is required: changes of laws say why, in at most 500 characters',
    });
    assert.equal((await service.call('POST', '/api/collections/laws', { text: 'no' }, { key: null })).status, 401);
    const { body } = await service.call('POST', '/api/collections/laws', { text: 'a' }, because('asked for'));
    const path = `/api/collections/laws/${body.id}`;
    assert.equal((await service.call('PATCH', path, { text: 'b' })).status, 400);
    assert.equal((await service.call('DELETE', path)).status, 400);
    assert.equal((await service.call('DELETE', path, undefined, because('repealed'))).status, 200);
    assert.deepEqual(reasonsOf(`laws/${body.id}`), ['asked for', 'repealed']);
  });

  it('is said by the service if an account is set up', async () => {
    const setupToken = new URL(service.setupUrl ?? '').searchParams.get('token');
    const first = { setupToken, email: 'ada@example.com', password: 'correct horse' };
    const { status, body } = await assertRecorded(
      service,
      () => service.call('POST', '/api/collections/people/first-user', first, { key: null }),
      ['document.created', 'setup.completed', 'password.changed', 'session.started'],
    );
    assert.equal(status, 201);
    assert.deepEqual(reasonsOf(`people/${body.user.id}`), ['set up as the first user']);
  });
});
