import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';
import { fieldsOf } from '../../helpers/shared.ts';
import { inTime } from '../../helpers/wait-for.ts';
import { callsOf, config } from './config.ts';

const service = useServiceHere(config);
const { draft, post, edit, shown, release, read, on } = callsOf({ call: (...args) => service.call(...args) });

/** A time this many milliseconds from now. */
const soon = (milliseconds = 1500) => new Date(Date.now() + milliseconds).toISOString();

describe('a release with a time', () => {
  it('is published at that time, by the service, and names who planned it', async () => {
    const one = await draft({ title: 'One' });
    const at = soon();
    const { body } = await release({ title: 'Soon', at, timeZone: 'Europe/Berlin', items: [one] });
    assert.deepEqual(
      [body.state, body.at, body.timeZone, body.scheduledBy.type],
      ['scheduled', at, 'Europe/Berlin', 'apiKey'],
    );
    assert.equal(await shown(one), null);
    await edit(one, { title: 'Half a sen' });
    await inTime(async () => assert.equal((await read(body.id)).body.state, 'published'));
    assert.equal((await shown(one))?.title, 'One');
    const { batch, publishedAt } = (await read(body.id)).body;
    assert.ok(Date.parse(publishedAt) >= Date.parse(at));
    const events = (await service.call('GET', `/api/audit/events?batch=${batch}`)).body.docs;
    const [first, second] = events;
    assert.deepEqual(
      [first.header.type, first.header.actor, first.data, first.context],
      [
        'release.published',
        { type: 'system' },
        { at, scheduledBy: body.scheduledBy },
        { call: 'release', rule: 'release' },
      ],
    );
    assert.deepEqual([second.header.type, second.context.rule], ['document.published', 'release']);
  });

  it('is not published once its time is taken away', async () => {
    const one = await draft({ title: 'One' });
    const { body } = await release({ title: 'Soon', at: soon(), items: [one] });
    const { body: open } = await on(body.id, 'unschedule');
    assert.deepEqual([open.state, open.at], ['open', null]);
    const { body: later } = await on(body.id, 'schedule', { at: soon(60_000) });
    assert.equal(later.state, 'scheduled');
  });

  it('says why it failed, and publishes nothing', async () => {
    const taken = await post({ title: 'x', slug: 'x' });
    const one = await draft({ title: 'One' });
    const two = await draft({ title: 'Two', slug: 'y' });
    const { body } = await release({ title: 'Soon', at: soon(2000), items: [one, two] });
    await service.call('PATCH', `/api/collections/posts/${taken.id}?draft=true`, { slug: 'z' });
    await service.call('PATCH', `/api/collections/posts/${taken.id}`, { slug: 'y' });
    const state = async () => (await read(body.id)).body.state;
    await inTime(async () => assert.equal(await state(), 'failed'));
    const { state: then, items } = (await read(body.id)).body;
    assert.equal(then, 'failed');
    assert.deepEqual(
      items.map(({ problems }: { problems: { field: string; code: string }[] }) =>
        problems.map(({ field, code }) => `${field} ${code}`),
      ),
      [[], ['slug unique']],
    );
    assert.equal(await shown(one), null);
  });
});

describe('the time of a release', () => {
  it('is in the future, and within five years', async () => {
    for (const at of [soon(-1000), '2034-01-01T00:00:00Z', 'tomorrow', '2027-01-01']) {
      const { status, ...answer } = await release({ title: 'x', at });
      assert.deepEqual([status, fieldsOf({ status, ...answer })], [400, ['at']], at);
    }
  });

  it('has a time zone by its name', async () => {
    for (const timeZone of ['Europe/Berln', '+01:00', 'CEST?']) {
      const answer = await release({ title: 'x', at: soon(60_000), timeZone });
      assert.deepEqual([answer.status, fieldsOf(answer)], [400, ['timeZone']], timeZone);
    }
    const { body } = await release({ title: 'x', at: soon(60_000), timeZone: 'Europe/Berln' });
    assert.match(body.errors[0].message, /did you mean "Europe\/Berlin"/);
    assert.equal((await release({ title: 'x', at: soon(60_000), timeZone: 'Asia/Kolkata' })).status, 201);
  });
});
