import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import { run } from '../../verify/annals-verify.mjs';
import { openLined, writerOf } from '../documents/drafts/recorded.ts';
import { startHere } from '../helpers/embedded.ts';
import { apiKey, temporaryFolder } from '../helpers/service.ts';
import { useStarted } from '../helpers/shared.ts';

const config: Config = {
  collections: [{ slug: 'posts', drafts: true, fields: [{ name: 'title', type: 'text' }] }],
  globals: [{ slug: 'site', drafts: true, fields: [{ name: 'motto', type: 'text' }] }],
};

const packs = { times: [] as string[], post: '', never: '', folder: '' };

/** A service with a document that was public twice, and one that was never public. */
const service = useStarted((t) => {
  packs.folder = temporaryFolder(t);
  const data = join(packs.folder, 'data');
  const directory = openLined(data, config);
  const post = writerOf(directory, 'posts');
  const note = () => {
    const [last] = directory.log.range(directory.log.head().size - 1, directory.log.head().size);
    packs.times.push(String(last?.header.recordedAt));
  };
  post.draft({ title: 'a' }, { by: 'staff/ada' });
  note();
  post.publish({}, { by: 'staff/cy' });
  note();
  post.save({ title: 'b' }, { by: 'staff/ada' });
  post.restore({ title: 'c' }, true, { by: 'staff/ada' });
  post.review('requested', { version: 4, note: 'please' }, { by: 'staff/ada' });
  note();
  post.publish({}, { by: 'staff/bob' });
  note();
  post.unpublish({ by: 'staff/cy' });
  note();
  const never = writerOf(directory, 'posts');
  never.draft({ title: 'never' });
  const site = writerOf(directory, 'globals/site');
  site.save({ motto: 'a' });
  site.publish();
  Object.assign(packs, { post: post.id, never: never.id });
  directory.close();
  return startHere(t, config as object, { data });
});

/** A pack of today, as a file. */
async function packOf(path: string): Promise<string> {
  const answer = await fetch(`${service.url}/api/audit/bundles/${path}`, { headers: { 'x-api-key': apiKey } });
  assert.equal(answer.status, 200);
  const file = join(packs.folder, `${path.replaceAll('/', '-')}-${process.hrtime.bigint()}.zip`);
  writeFileSync(file, Buffer.from(await answer.arrayBuffer()));
  return file;
}

async function check(args: string[]) {
  const { exit, text } = await run(['--trust-inside', ...args]);
  return { exit, text };
}

describe('A pack of a document with drafts', () => {
  it('is sound for both verifiers, whatever was public', async () => {
    for (const path of [`posts/${packs.post}`, `posts/${packs.never}`, 'globals/site']) {
      const file = await packOf(path);
      const { exit, text } = await check([file]);
      assert.equal(exit, 0, text);
      const script = new URL('../../docs/verify.py', import.meta.url).pathname;
      const { stdout } = spawnSync('python3', [script, file], { encoding: 'utf8' });
      // Without a key it says that it is sound in itself.
      assert.match(stdout, /sound in itself/, stdout);
    }
  });

  it('says in its page from when until when which version was public, and by whom', async () => {
    const page = join(packs.folder, 'page.html');
    const { exit, text } = await check(['--summary', page, await packOf(`posts/${packs.post}`)]);
    assert.equal(exit, 0, text);
    const [, table = ''] = readFileSync(page, 'utf8').split('<h2>Public states</h2>');
    const rows = [...table.matchAll(/<tr><td>(.+?)<\/td><\/tr>/g)].map(([, row = '']) =>
      row.replaceAll(/<\/?bdi>/g, '').split('</td><td>'),
    );
    const [, published, , again, taken] = packs.times;
    assert.deepEqual(rows, [
      [published, again, '2', 'user staff/cy'],
      [again, taken, '6', 'user staff/bob'],
    ]);
    const drafts = readFileSync(page, 'utf8').split('<h2>Version ');
    assert.match(drafts[3] ?? '', /draft changed, not public.*<th><bdi>title<\/bdi><\/th><td><bdi>b<\/bdi><\/td>/s);
  });

  it('tells with --at what was public at a time', async () => {
    const file = await packOf(`posts/${packs.post}`);
    const titles = [];
    for (const time of packs.times) {
      const { text } = await check(['--json', '--at', time, file]);
      const { at } = JSON.parse(text);
      titles.push(at.public ? [at.version, at.document.title, at.by.id] : null);
    }
    assert.deepEqual(titles, [null, [2, 'a', 'staff/cy'], [2, 'a', 'staff/cy'], [6, 'c', 'staff/bob'], null]);
    const { text } = await check(['--at', String(packs.times[2]), file]);
    assert.match(text, /^public at {3}\S+: version 2, since \S+, by .*staff\/cy.*\n {2}\{\n {4}"id"/m);
    const later = await check(['--at', '2999-01-01T00:00:00Z', file]);
    assert.equal(later.exit, 2, later.text);
    assert.match(later.text, /says nothing of 2999-01-01/);
    assert.equal((await check(['--at', 'yesterday', file])).exit, 2);
  });

  it('is sound after an erasure, and says that the content of then is gone', async () => {
    const erased = await service.call('POST', '/api/audit/erasures', {
      collection: 'posts',
      id: packs.post,
      reason: 'asked',
    });
    assert.equal(erased.status, 201, JSON.stringify(erased.body));
    const file = await packOf(`posts/${packs.post}`);
    const { exit, text } = await check(['--at', String(packs.times[1]), file]);
    assert.equal(exit, 0, text);
    assert.match(text, /version 2, since \S+, by .*; the content was erased since/);
  });
});
