import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import { usualSizes } from '../../events/sealing.ts';
import { segmentsOf } from '../../events/segments.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { remainsIn } from '../helpers/remains.ts';
import { eventually } from '../helpers/shared.ts';
import { findingIn } from '../projections/directory.ts';

// Of the whole process, so that few events make a segment.
Object.assign(usualSizes, { events: 40, hot: 10 });

const config: Config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };

describe('a service that seals its log', () => {
  const service = useServiceHere(config);
  const inLog = <T>(sql: string) =>
    withDatabase(join(service.data, 'log.db'), { readonly: true }, (db) => db.prepare<[], T>(sql).pluck().get());
  const segments = () => withDatabase(join(service.data, 'log.db'), { readonly: true }, segmentsOf);

  async function post(title: string): Promise<string> {
    const { status, body } = await service.call('POST', '/api/collections/posts', { title });
    assert.equal(status, 201);
    return body.id;
  }

  it('moves payloads into segments beside its writes, and answers what it answered before', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 130; at += 1) ids.push(await post(`Bilby-${at}`));
    await eventually(() => segments().length === 3 && Number(inLog('SELECT min(position) FROM payloads')) > 120);
    const history = await service.call('GET', `/api/collections/posts/${ids[3]}/versions`);
    assert.deepEqual([history.status, history.body.docs?.length ?? history.body.entries?.length], [200, 1]);
    const events = await service.call('GET', '/api/audit/events?limit=20');
    assert.equal(events.status, 200);
    assert.equal(findingIn(service.data), null);
  });

  it('erases from segments, while it goes on, and leaves nothing in any file', async () => {
    const id = await post('Numbat-old');
    for (let at = 0; at < 60; at += 1) await post(`Wombat-${at}`);
    await eventually(() => Number(inLog('SELECT min(position) FROM payloads')) > 160);
    assert.notDeepEqual(remainsIn(service.data, ['Numbat-old']), []);
    const before = new Set(readdirSync(join(service.data, 'segments')));
    const [answer] = await Promise.all([
      service.call('POST', '/api/audit/erasures', { collection: 'posts', id, reason: 'asked to' }),
      ...Array.from({ length: 60 }, (_, at) => post(`Quokka-${at}`)),
    ]);
    assert.ok([200, 201, 202].includes(answer.status), JSON.stringify(answer.body));
    await eventually(() => inLog('SELECT min(done) FROM erasures') === 1);
    assert.deepEqual(remainsIn(service.data, ['Numbat-old']), []);
    const { data } = service;
    const left = readdirSync(join(data, 'segments')).filter((name) => before.has(name));
    assert.equal(left.length, before.size - 1, 'only one segment was written anew');
    assert.equal(findingIn(data), null);
  });
});
