import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { roundsOf } from '../../helpers/rounds.ts';
import { type Service, startService, temporaryFolder } from '../../helpers/service.ts';
import { inTime } from '../../helpers/wait-for.ts';
import { callsOf, config } from './config.ts';

const count = 30;
const rounds = roundsOf(200, 3);
/** Between the time of a release and the look that finds it due. */
const lookMilliseconds = 1500;

describe('a release that a kill meets', () => {
  it(`is published whole or not at all, and once, at its time or by hand: ${rounds} kills`, {
    timeout: 60_000 * Math.max(5, rounds / 6),
  }, async (t) => {
    const data = temporaryFolder(t);
    const start = () => startService(t, config, { data });
    let service = await start();
    const items = await Promise.all(
      Array.from({ length: count }, (_, index) => callsOf(service).post({ title: `${index}` })),
    );

    /** How many documents have a title publicly, in one read. */
    const published = async ({ call }: Pick<Service, 'call'>, title: string) => {
      const { body } = await call('GET', `/api/collections/posts?where[title][equals]=${title}&limit=100`);
      return Number(body.total);
    };

    for (let round = 0; round < rounds; round += 1) {
      const title = `round ${round}`;
      const isByHand = round % 2 === 1;
      const calls = callsOf(service);
      await Promise.all(items.map((item) => calls.edit(item, { title })));
      const at = new Date(Date.now() + 300).toISOString();
      const { body } = await calls.release({ title, items, ...(isByHand ? {} : { at }) });
      if (isByHand) calls.on(body.id, 'publish').catch(() => {});
      await pause(isByHand ? randomInt(150) : randomInt(300 + lookMilliseconds));
      await service.kill();
      service = await start();
      const after = callsOf(service);
      const seen = await published(service, title);
      assert.ok(seen === 0 || seen === count, `${seen} of ${count} in round ${round}`);
      if (isByHand && seen === 0) await after.on(body.id, 'publish');
      await inTime(async () => assert.equal((await after.read(body.id)).body.state, 'published'));
      assert.equal(await published(service, title), count);
      const events = await service.call(
        'GET',
        `/api/audit/events?stream=system/releases/${body.id}&type=release.published`,
      );
      assert.equal(events.body.docs.length, 1);
    }
  });
});
