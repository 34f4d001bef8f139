import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { writeConfig } from '../../helpers/service.ts';
import { useFolder } from '../../helpers/shared.ts';

const config = {
  collections: [
    {
      slug: 'posts',
      drafts: true,
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'slug', type: 'text', unique: true },
      ],
    },
    { slug: 'plain', fields: [{ name: 'title', type: 'text' }] },
  ],
};
const service = useServiceHere(config);
const folder = useFolder();
const configFile = writeConfig(folder, config);

const annals = (...args: string[]) => runHere([...args, '--data', service.data, '--config', configFile]);
const list = async (query: string) => (await service.call('GET', `/api/collections/posts?sort=slug&${query}`)).body;

describe('annals import of a collection with drafts', () => {
  it('saves drafts with --draft, found by their values as drafts, and publishes without', async () => {
    const file = join(folder, 'posts.ndjson');
    writeFileSync(file, '{"slug":"a"}\n{"slug":"b","title":"B"}\n');
    await list('');
    const tried = await annals('import', 'posts', file, '--draft', '--upsert', 'slug', '--dry-run');
    assert.deepEqual([tried.code, tried.stdout], [0, '2 to create, 0 to update, 0 unchanged, 0 refused\n']);
    const drafts = await annals('import', 'posts', file, '--draft', '--upsert', 'slug');
    assert.deepEqual(
      [drafts.code, drafts.stdout, drafts.stderr],
      [0, '2 created, 0 updated, 0 unchanged, 0 refused\n', ''],
    );
    assert.equal((await list('')).total, 0);
    writeFileSync(file, '{"slug":"a","title":"A"}\n{"slug":"b","title":"B"}\n');
    const again = await annals('import', 'posts', file, '--draft', '--upsert', 'slug');
    assert.deepEqual([again.code, again.stdout], [0, '0 created, 1 updated, 1 unchanged, 0 refused\n']);
    const { docs } = await list('draft=true&select=title,__status');
    assert.deepEqual(
      docs.map(({ title, __status }: { title: string; __status: string }) => [title, __status]),
      [
        ['A', 'draft'],
        ['B', 'draft'],
      ],
    );
    const fresh = join(folder, 'more.ndjson');
    writeFileSync(fresh, '{"slug":"c","title":"C"}\n');
    assert.equal((await annals('import', 'posts', fresh)).code, 0);
    assert.equal((await list('')).total, 1);
    const wrong = await annals('import', 'plain', fresh, '--draft');
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /^--draft: plain has no drafts$/m);
  });
});
