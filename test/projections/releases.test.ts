import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import type { Category } from '../../config/schema.ts';
import type { Actor } from '../../events/facts/envelope.ts';
import {
  decideRelease,
  decideReleaseEnd,
  decideReleaseFailure,
  decideReleaseItems,
  decideReleasePublication,
  decideReleaseRemoval,
  decideReleaseUpdate,
} from '../../events/facts/releases.ts';
import { openReleases } from '../../projections/tables/releases.ts';
import { type Directory, findingIn, openDirectory, quickFolder } from './directory.ts';

const config: Config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };
const posts = 'posts' as Category;
const at = Date.parse('2026-12-24T17:00:00.000Z');
const ada: Actor = { type: 'user', id: 'users/ada' };
const id = '01a30000-0000-7000-8000-000000000001';
const release = { id, title: 'Christmas', description: null, time: null, items: [] };

describe('the tables of releases', () => {
  let folder: string;
  let directory: Directory;

  beforeEach(() => {
    folder = quickFolder();
    directory = openDirectory(folder, config);
  });

  afterEach(() => {
    directory.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const found = () => {
    const release = openReleases(directory.reader).find(id);
    assert.ok(release);
    return release;
  };

  it('holds a release, its items in the order in which they were set, and its version', () => {
    const one = { category: posts, id: 'a', action: 'publish', version: 3 } as const;
    const two = { category: 'globals' as Category, id: 'site', action: 'publish', version: 1 } as const;
    const other = { category: posts, id: 'b', action: 'unpublish', version: null } as const;
    directory.record(decideRelease({ ...release, items: [one, two] }), { actor: ada });
    directory.record(decideReleaseItems(id, 3, [other, { ...one, version: 4 }]));
    const { items, createdBy, state, version } = found();
    assert.deepEqual({ createdBy, state, version }, { createdBy: ada, state: 'open', version: 5 });
    assert.deepEqual(items, [{ ...one, version: 4 }, two, other]);
    directory.record(decideReleaseRemoval(id, 5, [two]));
    assert.deepEqual(found().items, [{ ...one, version: 4 }, other]);
    assert.deepEqual(openReleases(directory.reader).livingWith(two), []);
    assert.equal(openReleases(directory.reader).livingWith(other).length, 1);
  });

  it('goes from state to state', () => {
    directory.record(decideRelease(release));
    directory.record(decideReleaseUpdate(id, 1, { time: { at, timeZone: 'Europe/Berlin' } }), { actor: ada });
    const scheduled = found();
    assert.deepEqual(
      [scheduled.state, scheduled.time, scheduled.scheduledBy],
      ['scheduled', { at, timeZone: 'Europe/Berlin' }, ada],
    );
    assert.deepEqual(openReleases(directory.reader).next(), { id, at });
    directory.record(decideReleaseUpdate(id, 2, { title: 'Xmas' }));
    assert.deepEqual([found().title, found().state], ['Xmas', 'scheduled']);
    const problem = { category: posts, id: 'a', field: 'title', code: 'required' };
    directory.record(decideReleaseFailure(id, 3, { at, by: ada, problems: [problem] }));
    assert.deepEqual([found().state, found().problems, found().scheduledBy], ['failed', [problem], ada]);
    assert.equal(openReleases(directory.reader).next(), null);
    directory.record(decideReleaseUpdate(id, 4, { time: null }));
    assert.deepEqual([found().state, found().time, found().problems], ['open', null, []]);
    directory.record(decideReleasePublication(id, 5, null), { batch: '01a3f000-0000-7000-8000-000000000001' });
    const { state, batch, publishedAt } = found();
    assert.deepEqual([state, batch, publishedAt !== null], ['published', '01a3f000-0000-7000-8000-000000000001', true]);
    assert.deepEqual(openReleases(directory.reader).livingWith({ category: posts, id: 'a' }), []);
  });

  it('finds releases by state and by time', () => {
    const ids = ['1', '2', '3'].map((end) => id.slice(0, -1) + end);
    for (const [index, one] of ids.entries()) {
      directory.record(decideRelease({ ...release, id: one, time: { at: at + index, timeZone: null } }));
    }
    directory.record(decideReleaseEnd(ids[0] ?? '', 1));
    const releases = openReleases(directory.reader);
    const page = { limit: 10, page: 1 };
    const idsOf = (filter: Parameters<typeof releases.page>[0]) =>
      releases.page(filter, page).found.map((one) => one.id);
    assert.deepEqual(idsOf({}), ids.toReversed());
    assert.deepEqual(idsOf({ states: ['scheduled'] }), [ids[2], ids[1]]);
    assert.deepEqual(idsOf({ from: at + 1, to: at + 1 }), [ids[1]]);
    assert.equal(releases.page({ states: ['archived'] }, page).total, 1);
    assert.equal(releases.next()?.id, ids[1]);
  });

  it('is what a replay of the log makes', () => {
    directory.record(
      decideRelease({ ...release, items: [{ category: posts, id: 'a', action: 'publish', version: 3 }] }),
    );
    directory.record(decideReleaseUpdate(id, 2, { description: 'all of it', time: { at, timeZone: null } }), {
      actor: ada,
    });
    directory.close();
    assert.equal(findingIn(folder), null);
    directory = openDirectory(folder, config, { isRebuild: true });
    assert.equal(found().description, 'all of it');
  });
});
