import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';
import { fieldsOf } from '../../helpers/shared.ts';
import { inTime } from '../../helpers/wait-for.ts';
import { callsOf, config } from './config.ts';

const service = useServiceHere(config);
const { draft, post, edit, shown, read, publish, unpublish } = callsOf({ call: (...args) => service.call(...args) });
const soon = (milliseconds = 1500) => new Date(Date.now() + milliseconds).toISOString();

describe('one document', () => {
  it('is published at a time, by a release of its own', async () => {
    const one = await draft({ title: 'One' });
    const planned = await publish(one, { at: soon(), timeZone: 'Europe/Berlin' });
    assert.equal(planned.status, 202, JSON.stringify(planned.body));
    const { body } = await read(planned.body.release);
    assert.deepEqual([body.title, body.state, body.items.length], [`publish posts/${one.id}`, 'scheduled', 1]);
    await edit(one, { title: 'Half a sen' });
    const trial = await service.call('POST', `/api/collections/posts/${one.id}/publish?dryRun=true`);
    assert.deepEqual(trial.body.releases, [planned.body.release]);
    assert.equal(await shown(one), null);
    await inTime(async () => assert.equal((await shown(one))?.title, 'One'));
  });

  it('is unpublished at a time', async () => {
    const one = await post({ title: 'One' });
    const planned = await unpublish(one, { at: soon() });
    assert.equal(planned.status, 202);
    assert.equal((await shown(one))?.title, 'One');
    await inTime(async () => assert.equal(await shown(one), null));
    assert.equal((await unpublish(one, { at: soon() })).status, 409);
  });

  it('is planned once for an Idempotency-Key', async () => {
    const one = await draft({ title: 'One' });
    const at = soon(60_000);
    const options = { headers: { 'idempotency-key': 'plan-1' } };
    const first = await publish(one, { at }, options);
    const again = await publish(one, { at }, options);
    assert.deepEqual([again.status, again.body], [202, first.body]);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
  });

  it('needs a time that can be, and no other values', async () => {
    const one = await draft({ title: 'One' });
    for (const [body, field] of [
      [{ at: soon(-1000) }, 'at'],
      [{ timeZone: 'Europe/Berlin' }, 'at'],
      [{ at: soon(), timeZone: 'Berlin' }, 'timeZone'],
      [{ at: soon(), data: { title: 'x' } }, 'data'],
      [{ at: soon(), version: 99 }, 'version'],
      [{ at: soon(), when: 'x' }, 'when'],
    ] as const) {
      const answer = await publish(one, body);
      assert.deepEqual([answer.status, fieldsOf(answer)], [400, [field]], JSON.stringify(body));
    }
    const missing = await publish({ collection: 'posts', id: crypto.randomUUID() }, { at: soon() });
    assert.equal(missing.status, 404);
    const stale = await publish(one, { at: soon(60_000) }, { headers: { 'if-match': '"7-x"' } });
    assert.equal(stale.status, 412);
  });
});
