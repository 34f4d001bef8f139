import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { typeFacts } from '../../config/field-types.ts';
import { withCrate } from '../helpers/crate-field-type.ts';
import { useService } from '../helpers/shared.ts';

const guide = readFileSync('CONTRIBUTING.md', 'utf8');
const [, section = ''] = /^## Adding a field type\n(.*?)^## /ms.exec(guide) ?? [];
const places = [...section.matchAll(/^\d\. `([^`]+)`/gm)].map(([, place = '']) => place);
const nesting = Object.entries(typeFacts).flatMap(([type, { inside }]) => (inside ? [type] : []));

describe('the places of a field type', () => {
  it('are at most five, and exist', () => {
    assert.ok(places.length > 0 && places.length <= 5, places.join(', '));
    for (const place of places) assert.equal(globSync(place).length, 1, place);
  });

  it('are the only ones that know a nesting type by its name', () => {
    const byName = new RegExp(`\\b(?:type [!=]== |case )'(?:${nesting.join('|')})'|(?<!renames)\\.blocks\\b`);
    const files = globSync('{config,events,projections,server,cli,client}/**/*.ts');
    const others = files.filter((file) => !places.some((place) => file === place || file.startsWith(place)));
    const knowing = others.filter((file) => byName.test(readFileSync(file, 'utf8').replace(/\/\*.*?\*\//gs, '')));
    assert.deepEqual(
      knowing,
      ['config/nesting.ts'].filter((file) => byName.test(readFileSync(file, 'utf8'))),
    );
    assert.ok(files.length > 300);
  });
});

describe('a nesting type that nothing else knows', () => {
  const config = `
    const yes = () => true;
    const no = () => false;
    const inside = [
      { name: 'word', type: 'text', queryable: true, hooks: { beforeChange: ({ value }) => value.trim(), afterRead: ({ value }) => value + '!' } },
      { name: 'at', type: 'time' },
      { name: 'link', type: 'relationship', relationTo: 'marks' },
      { name: 'secret', type: 'text', access: { read: no } },
      { name: 'sealed', type: 'text', access: { create: no } },
    ];
    const access = { read: yes, create: yes };
    export default {
      collections: [
        { slug: 'marks', access, fields: [{ name: 'name', type: 'text' }] },
        { slug: 'posts', access, fields: [{ name: 'crates', type: 'crate', blocks: [{ slug: 'box', fields: inside }] }] },
      ],
    };
  `;
  const service = useService(config, withCrate);
  const create = (data: object) => service.call('POST', '/api/collections/posts', { crates: [data] }, { key: null });
  const list = (query: string) => service.call('GET', `/api/collections/posts?${query}`, undefined, { key: null });

  it('is shaped, hooked, guarded, filtered and followed as the others are', async () => {
    const mark = await service.call('POST', '/api/collections/marks', { name: 'one' });
    const made = await create({ blockType: 'box', word: ' a ', at: '10:00:00', link: mark.body.id, secret: 'hush' });
    assert.equal(made.status, 201);
    const box = { blockType: 'box', word: 'a!', at: '10:00', link: mark.body.id, sealed: null };
    assert.deepEqual(made.body.crates, [box]);

    const found = await list('where[crates.word][equals]=a&depth=1');
    assert.deepEqual(found.body.docs[0]?.crates, [{ ...box, link: mark.body }]);
    assert.deepEqual((await list('where[crates.blockType][equals]=box')).body.total, 1);
    assert.deepEqual((await list('where[crates.word][equals]=b')).body.total, 0);
    assert.match((await list('where[crates.secret][equals]=hush')).body.message, /"secret" is not a field of "crates"/);
  });

  it('is refused with the path of what is wrong', async () => {
    const refused = async (data: object) => (await create({ blockType: 'box', ...data })).body.errors[0].field;
    assert.equal(await refused({ link: 'nowhere' }), 'crates.0.link');
    assert.equal(await refused({ sealed: 'x' }), 'crates.0.sealed');
    assert.equal(await refused({ at: 'noon' }), 'crates.0.at');
  });
});
