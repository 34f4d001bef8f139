import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import type { JsonObject } from '../../config/schema.ts';
import { uniqueFields } from '../../events/facts/claims.ts';
import {
  decideDraft,
  decideDraftUpdate,
  decidePublish,
  type LineSubject,
  noLinesNow,
} from '../../events/facts/line-decisions.ts';
import { openLines } from '../../projections/query/lines.ts';
import { type Tables, tablesOf } from '../../projections/tables/tables.ts';
import { category } from '../helpers/category.ts';
import { type Directory, findingIn, openDirectory, quickFolder } from './directory.ts';

function configOf(drafts: boolean): Config {
  const fields = [
    { name: 'title', type: 'text' as const },
    { name: 'slug', type: 'text' as const, unique: true },
  ];
  return { collections: [drafts ? { slug: 'posts', drafts, fields } : { slug: 'posts', fields }] };
}

const at = Date.parse('2026-11-20T12:00:00Z');
const actor = { type: 'user', id: 'users/1' } as const;

function linesIn({ schema, reader }: Directory) {
  const tables = tablesOf(schema).find(({ key }) => key === 'posts') as Tables;
  const unique = uniqueFields(category('posts'), tables.fields);
  const lines = openLines(reader, tables, tables.drafts as Tables);
  const target = { category: category('posts'), unique, isGlobal: false };
  const subject = (id: string): LineSubject => ({ id, now: lines(id), actor, at });
  return { lines, target, subject };
}

describe('Turning drafts on and off', () => {
  const folder = quickFolder();
  const data = join(folder, 'data');
  after(() => rmSync(folder, { recursive: true, force: true }));

  function play<T>(drafts: boolean, run: (directory: Directory) => T): T {
    const directory = openDirectory(data, configOf(drafts));
    try {
      return run(directory);
    } finally {
      directory.close();
      assert.equal(findingIn(data), null);
    }
  }

  it('publishes all there is, hides drafts, and brings them back', () => {
    const id = play(false, (directory) => directory.create('posts', { title: 'old', slug: 'a' }));
    play(true, (directory) => {
      const { lines, target, subject } = linesIn(directory);
      const now = lines(id);
      assert.equal(now.published, now.draft);
      assert.equal(now.published?.title, 'old');
      const change = decideDraftUpdate(target, subject(id), { values: { title: 'new', slug: 'b' } });
      assert.ok(change);
      directory.record(change, { actor });
      assert.deepEqual([lines(id).published?.title, lines(id).draft?.title], ['old', 'new']);
      assert.deepEqual(lines(id).editors, { title: ['users/1'], slug: ['users/1'] });
    });
    play(false, (directory) => {
      assert.equal(directory.document('posts', id)?.title, 'old');
      directory.update('posts', id, { title: 'newer' });
      directory.create('posts', { title: 'takes what only a draft has', slug: 'c' });
    });
    play(true, (directory) => {
      const { lines } = linesIn(directory);
      assert.deepEqual([lines(id).published?.title, lines(id).draft?.title], ['newer', 'new']);
    });
  });

  it('is refused over a value that a draft and another document share', () => {
    play(false, (directory) => directory.create('posts', { title: 'took the address meanwhile', slug: 'b' }));
    assert.throws(() => openDirectory(data, configOf(true)), /posts\.slug is unique now, but these drafts share "b"/);
  });
});

describe('Unique values of drafts', () => {
  const folder = quickFolder();
  const directory = openDirectory(join(folder, 'data'), configOf(true));
  const { lines, target, subject } = linesIn(directory);
  after(() => {
    directory.close();
    assert.equal(findingIn(join(folder, 'data')), null);
    rmSync(folder, { recursive: true, force: true });
  });

  const idOf = (number: number) => `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`;
  const draft = (number: number, values: JsonObject) => {
    return decideDraft(target, { id: idOf(number), actor, at }, { title: null, slug: null, ...values });
  };
  const outcomeOf = (change: ReturnType<typeof decideDraftUpdate>) => {
    assert.ok(change);
    const outcome = directory.append(change, { actor });
    const { size, root } = directory.log.head();
    directory.projector.apply(directory.log.range(directory.projector.checkpoint()?.position ?? 0, size), root);
    return outcome;
  };

  it('are held by one draft, and by what is public apart from them', () => {
    assert.equal(outcomeOf(draft(1, { slug: 'sale' })).ok, true);
    assert.deepEqual(outcomeOf(draft(2, { slug: 'sale' })), {
      ok: false,
      conflict: 'claim',
      claim: { scope: 'posts.slug#draft', value: '"sale"' },
    });
    assert.equal(lines(idOf(2)), noLinesNow);
    assert.equal(outcomeOf(decidePublish(target, subject(idOf(1)), {})).ok, true);
    // The first gives the address up in its draft, so another draft may take it, and only publishing is refused.
    const given = decideDraftUpdate(target, subject(idOf(1)), { values: { slug: 'old-sale' } });
    assert.equal(outcomeOf(given).ok, true);
    assert.equal(outcomeOf(draft(2, { slug: 'sale' })).ok, true);
    const early = outcomeOf(decidePublish(target, subject(idOf(2)), {}));
    assert.deepEqual(early, { ok: false, conflict: 'claim', claim: { scope: 'posts.slug', value: '"sale"' } });
    assert.equal(outcomeOf(decidePublish(target, subject(idOf(1)), {})).ok, true);
    assert.equal(outcomeOf(decidePublish(target, subject(idOf(2)), {})).ok, true);
    assert.deepEqual(directory.document('posts', idOf(2))?.slug, 'sale');
  });
});
