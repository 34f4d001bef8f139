import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statfsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import { usualSizes } from '../../events/segments/segment-writer.ts';
import { segmentsOf } from '../../events/segments/segments.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { useSmallDisk } from '../helpers/disk.ts';
import { type HereService, startHere } from '../helpers/embedded.ts';
import { eventually, useFolder } from '../helpers/shared.ts';
import { findingIn } from '../projections/directory.ts';

const config: Config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };

describe('a service whose segments have no room', () => {
  const disk = useSmallDisk(2_000_000);
  const whole = useSmallDisk(40_000_000);
  const own = useFolder();
  const usual = { ...usualSizes };
  // Sizes for the whole process, with which few events make a segment.
  before(() => Object.assign(usualSizes, { events: 40, hot: 10 }));
  after(() => Object.assign(usualSizes, usual));

  /** Fills a disk but for some bytes. */
  function takeRoom(folder: string, but: number): void {
    const { bavail, bsize } = statfsSync(folder);
    writeFileSync(join(folder, 'ballast'), Buffer.alloc(Math.max(bavail * bsize - but, 0)));
  }

  const segments = (data: string) => withDatabase(join(data, 'log.db'), { readonly: true }, segmentsOf);
  const size = (data: string) =>
    withDatabase(join(data, 'log.db'), { readonly: true }, (db) => {
      return Number(db.prepare('SELECT size FROM head').pluck().get());
    });

  /** Creates a document that cannot be compressed to nothing. @returns the status, and the beginning of its title. */
  async function post(service: HereService): Promise<{ status: number; title: string }> {
    const title = randomBytes(1500).toString('base64');
    const { status } = await service.call('POST', '/api/collections/posts', { title });
    return { status, title: title.slice(0, 20) };
  }

  async function titlesIn(service: HereService): Promise<string[]> {
    const found: string[] = [];
    for (let page = 1, hasMore = true; hasMore; page += 1) {
      const { body } = await service.call('GET', `/api/collections/posts?limit=100&sort=id&page=${page}`);
      found.push(...body.docs.map(({ title }: { title: string }) => title.slice(0, 20)));
      hasMore = body.hasNextPage;
    }
    return found;
  }

  it('goes on with its writes, and archives when there is room again', { skip: disk.skip }, async (t) => {
    const data = join(own, 'data');
    mkdirSync(data);
    symlinkSync(disk.folder, join(data, 'segments'));
    takeRoom(disk.folder, 8192);
    const service = await startHere(t, config, { data });
    const titles: string[] = [];
    const write = async (count: number) => {
      for (let made = 0; made < count; made += 1) {
        const { status, title } = await post(service);
        assert.equal(status, 201);
        titles.push(title);
      }
    };
    await write(60);
    await eventually(() =>
      service.lines().some(({ msg }) => /could not be archived further: there is no room/.test(msg)),
    );
    await write(40);
    assert.deepEqual([segments(data), readdirSync(disk.folder)], [[], ['ballast']]);
    rmSync(join(disk.folder, 'ballast'));
    await write(1);
    await eventually(() => segments(data).length === 2);
    assert.deepEqual(await titlesIn(service), titles);
    assert.equal((await service.call('GET', '/api/audit/events?limit=100')).status, 200);
    assert.equal(findingIn(data), null);
  });

  it('loses nothing if the disk of the log is full too', { skip: whole.skip }, async (t) => {
    const data = join(whole.folder, 'data');
    const service = await startHere(t, config, { data });
    const titles: string[] = [];
    // Segments are written all the time; the disk is full before, during and after a segment.
    for (let round = 1; round <= 6; round += 1) {
      takeRoom(whole.folder, 1_500_000 + round * 137_000);
      for (let isFull = false; !isFull; ) {
        const { status, title } = await post(service);
        isFull = status === 503;
        if (!isFull) titles.push(title);
      }
      rmSync(join(whole.folder, 'ballast'));
      const { status, title } = await post(service);
      assert.equal(status, 201);
      titles.push(title);
    }
    for (let count = 0; count < 15; count += 1) titles.push((await post(service)).title);
    await eventually(() => (segments(data).at(-1)?.last ?? 0) > size(data) - 51);
    assert.ok(segments(data).length > 2, `${size(data)} events`);
    // A write that was recorded and could not be shown was a 503 too.
    const answered = new Set(titles);
    assert.deepEqual(
      (await titlesIn(service)).filter((title) => answered.has(title)),
      titles,
    );
    await service.stop();
    assert.equal(findingIn(data), null);
  });
});
