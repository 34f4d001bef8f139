import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import type { CollectionConfig, FieldConfig } from '../../config/define.ts';
import type { JsonObject } from '../../config/schema.ts';
import type { EventType } from '../../events/facts/catalogue.ts';
import type { Header } from '../../events/facts/envelope.ts';
import { type Epoch, followNames } from '../../events/facts/lineage.ts';
import { compileUpcaster, schemaKey } from '../../events/facts/upcasters.ts';

/** A text field, perhaps under a name that it did not always have. */
function text(name: string, renamedFrom?: string): FieldConfig {
  return { name, type: 'text', ...(renamedFrom ? { renamedFrom } : {}) };
}

/** One schema per argument, for a collection `posts` with these fields, from the positions 1, 11, 21 … on. */
function epochsOf(...fields: (readonly FieldConfig[] | null)[]): Epoch[] {
  const others: CollectionConfig[] = [{ slug: 'others', fields: [text('a')] }];
  return fields.map((list, index) => {
    const collections = list ? [{ slug: 'posts', fields: list }, ...others] : others;
    return { position: index * 10 + 1, schema: checkConfig({ collections }).schema };
  });
}

/**
 * The upcast form of the fields of a `document.created` at a position, and of the same ones in an update's `set` and a
 * restore's `document`.
 */
function upcastAt(position: number, epochs: readonly Epoch[], fields: JsonObject, key = 'posts'): JsonObject {
  const { upcast } = compileUpcaster(epochs);
  const before = structuredClone(fields);
  const created = upcast(key, { position, type: 'document.created' } as Header, fields);
  const updated = upcast(key, { position, type: 'document.updated' } as Header, { set: fields });
  assert.deepEqual(updated, { set: created }, 'created and updated are treated alike');
  const source = { version: 1, position: 1 };
  const restored = upcast(key, { position, type: 'document.restored' } as Header, { source, document: fields });
  assert.deepEqual(restored, { source, document: created }, 'created and restored are treated alike');
  assert.deepEqual(fields, before, 'the event itself is left as it is');
  return created;
}

describe('upcasting old events to the names of today', () => {
  it('carries a value over to the new name of its field, and leaves later events as they are', () => {
    const epochs = epochsOf([text('title'), text('body')], [text('headline', 'title'), text('body')]);
    const values = { title: 'a', body: 'b' };
    assert.deepEqual(upcastAt(5, epochs, values), { headline: 'a', body: 'b' });
    assert.deepEqual(upcastAt(10, epochs, values), { headline: 'a', body: 'b' });
    assert.deepEqual(upcastAt(12, epochs, { headline: 'a' }), { headline: 'a' });
    assert.deepEqual(upcastAt(12, epochs, values), values);
  });

  it('renames in `unset` too', () => {
    const { upcast } = compileUpcaster(epochsOf([text('title')], [text('headline', 'title')]));
    const header = { position: 2, type: 'document.updated' } as Header;
    assert.deepEqual(upcast('posts', header, { set: {}, unset: ['title', 'other'] }), {
      set: {},
      unset: ['headline', 'other'],
    });
  });

  it('touches neither other collections nor events without fields', () => {
    const epochs = epochsOf([text('title')], [text('headline', 'title')]);
    assert.deepEqual(upcastAt(2, epochs, { title: 'a' }, 'others'), { title: 'a' });
    const { upcast } = compileUpcaster(epochs);
    assert.deepEqual(upcast('posts', { position: 2, type: 'document.deleted' } as Header, {}), {});
  });

  it('follows a chain of renames from wherever an event stands in it', () => {
    const epochs = epochsOf([text('a')], [text('b', 'a')], [text('c', 'b')], [text('d', 'c')]);
    assert.deepEqual(upcastAt(2, epochs, { a: 'x' }), { d: 'x' });
    assert.deepEqual(upcastAt(12, epochs, { b: 'x' }), { d: 'x' });
    assert.deepEqual(upcastAt(22, epochs, { c: 'x' }), { d: 'x' });
    assert.deepEqual(upcastAt(32, epochs, { d: 'x' }), { d: 'x' });
  });

  it('lets a name that was renamed be used anew', () => {
    const epochs = epochsOf([text('a')], [text('b', 'a')], [text('b'), text('a')]);
    assert.deepEqual(upcastAt(2, epochs, { a: 'old' }), { b: 'old' });
    assert.deepEqual(upcastAt(22, epochs, { a: 'new', b: 'kept' }), { a: 'new', b: 'kept' });
  });

  it('prefers the renamed value to what a removed field of the same name once held', () => {
    const epochs = epochsOf([text('a'), text('b')], [text('a')], [text('b', 'a')]);
    assert.deepEqual(upcastAt(2, epochs, { a: 'kept', b: 'removed' }), { b: 'kept' });
    assert.deepEqual(upcastAt(2, epochs, { b: 'removed', a: 'kept' }), { b: 'kept' });
    assert.deepEqual(upcastAt(2, epochs, { b: 'removed' }), {});
    assert.deepEqual(upcastAt(12, epochs, { a: 'later' }), { b: 'later' });
  });

  it('renames once, however long renamedFrom stays in the configuration, and whether it goes or not', () => {
    const stays = epochsOf([text('a')], [text('b', 'a')], [text('b', 'a'), text('more')]);
    const goes = epochsOf([text('a')], [text('b', 'a')], [text('b')]);
    for (const epochs of [stays, goes]) {
      assert.deepEqual(upcastAt(2, epochs, { a: 'x' }), { b: 'x' });
      assert.deepEqual(upcastAt(12, epochs, { a: 'stray', b: 'x' }), { a: 'stray', b: 'x' });
    }
    assert.equal(compileUpcaster(stays).fingerprint, compileUpcaster(goes).fingerprint);
  });

  it('renames nothing if the old name is still a field, or never was one, or both existed', () => {
    const both = epochsOf([text('a'), text('b')], [text('b', 'a')]);
    assert.deepEqual(upcastAt(2, both, { a: 'x', b: 'y' }), { a: 'x', b: 'y' });
    const never = epochsOf([text('other')], [text('b', 'a')]);
    assert.deepEqual(upcastAt(2, never, { a: 'x' }), { a: 'x' });
    assert.equal(compileUpcaster(never).fingerprint, compileUpcaster(epochsOf([text('a')])).fingerprint);
  });

  it('renames back and forth', () => {
    const epochs = epochsOf([text('a')], [text('b', 'a')], [text('a', 'b')]);
    assert.deepEqual(upcastAt(2, epochs, { a: 'x' }), { a: 'x' });
    assert.deepEqual(upcastAt(12, epochs, { b: 'x' }), { a: 'x' });
  });

  it('renames inside objects, arrays and rows, and the outer field at the same time', () => {
    const epochs = epochsOf(
      [
        { name: 'seo', type: 'object', fields: [text('title'), { name: 'deep', type: 'object', fields: [text('x')] }] },
        { name: 'links', type: 'array', fields: [text('href'), text('label')] },
        { type: 'row', fields: [text('left'), text('right')] },
      ],
      [
        {
          name: 'meta',
          type: 'object',
          renamedFrom: 'seo',
          fields: [text('name', 'title'), { name: 'deep', type: 'object', fields: [text('y', 'x')] }],
        },
        { name: 'links', type: 'array', fields: [text('url', 'href'), text('label')] },
        text('west', 'left'),
        { type: 'row', fields: [text('right')] },
      ],
    );
    assert.deepEqual(
      upcastAt(2, epochs, {
        seo: { title: 'a', deep: { x: 1 } },
        links: [{ href: 'u', label: 'l' }, { href: 'v' }],
        left: 'l',
        right: 'r',
        title: 'not inside',
      }),
      {
        meta: { name: 'a', deep: { y: 1 } },
        links: [{ url: 'u', label: 'l' }, { url: 'v' }],
        west: 'l',
        right: 'r',
        title: 'not inside',
      },
    );
    assert.deepEqual(upcastAt(2, epochs, { seo: null, links: [] }), { meta: null, links: [] });
    assert.deepEqual(upcastAt(2, epochs, { seo: 'of another type', links: [null, 7] }), {
      meta: 'of another type',
      links: [null, 7],
    });
  });

  it('renames inside the blocks of one kind and leaves those of another', () => {
    const blocks = (hero: FieldConfig[], quote: FieldConfig[]): FieldConfig => {
      return {
        name: 'layout',
        type: 'blocks',
        blocks: [
          { slug: 'hero', fields: hero },
          { slug: 'quote', fields: quote },
        ],
      };
    };
    const epochs = epochsOf(
      [blocks([text('head'), { name: 'cta', type: 'object', fields: [text('to')] }], [text('head')])],
      [blocks([text('title', 'head'), { name: 'cta', type: 'object', fields: [text('url', 'to')] }], [text('head')])],
    );
    assert.deepEqual(
      upcastAt(2, epochs, {
        layout: [
          { blockType: 'hero', head: 'a', cta: { to: 'x' } },
          { blockType: 'quote', head: 'b' },
          { blockType: 'gone', head: 'c' },
          { head: 'd' },
          null,
        ],
      }),
      {
        layout: [
          { blockType: 'hero', title: 'a', cta: { url: 'x' } },
          { blockType: 'quote', head: 'b' },
          { blockType: 'gone', head: 'c' },
          { head: 'd' },
          null,
        ],
      },
    );
  });

  it('follows renames of several levels over several changes', () => {
    const object = (name: string, inside: FieldConfig, renamedFrom?: string): FieldConfig => {
      return { name, type: 'object', fields: [inside], ...(renamedFrom ? { renamedFrom } : {}) };
    };
    const epochs = epochsOf(
      [object('one', text('a'))],
      [object('two', text('a'), 'one')],
      [object('two', text('b', 'a'))],
      [object('three', text('c', 'b'), 'two')],
    );
    assert.deepEqual(upcastAt(2, epochs, { one: { a: 'x' } }), { three: { c: 'x' } });
    assert.deepEqual(upcastAt(12, epochs, { two: { a: 'x' } }), { three: { c: 'x' } });
    assert.deepEqual(upcastAt(22, epochs, { two: { b: 'x' } }), { three: { c: 'x' } });
  });

  it('renames in globals, which are told from each other and from collections of the same name', () => {
    const globals = (field: FieldConfig) => [
      { slug: 'site', fields: [field] },
      { slug: 'shop', fields: [text('a')] },
    ];
    const collections = [{ slug: 'site', fields: [text('a')] }];
    const epochs = [text('a'), text('b', 'a')].map((field, index) => {
      return { position: index * 10 + 1, schema: checkConfig({ collections, globals: globals(field) }).schema };
    });
    const { upcast } = compileUpcaster(epochs);
    const upcastGlobal = (key: string, type: EventType = 'global.updated') => {
      return upcast(key, { position: 2, type } as Header, { set: { a: 'x' } });
    };
    assert.deepEqual(upcastGlobal(schemaKey('globals/site')), { set: { b: 'x' } });
    assert.deepEqual(upcastGlobal(schemaKey('globals/shop')), { set: { a: 'x' } });
    assert.deepEqual(upcastGlobal(schemaKey('site/0198'), 'document.updated'), { set: { a: 'x' } });
  });

  it('has a fingerprint that differs if what it does differs', () => {
    const fingerprints = [
      epochsOf([text('a')]),
      epochsOf([text('a')], [text('b', 'a')]),
      epochsOf([text('a')], [text('c', 'a')]),
      epochsOf([text('a')], [text('b', 'a')], [text('a', 'b')]),
    ].map((epochs) => compileUpcaster(epochs).fingerprint);
    assert.equal(new Set(fingerprints).size, fingerprints.length);
    const same = compileUpcaster(epochsOf([text('a')], [text('a'), text('more')])).fingerprint;
    assert.equal(same, fingerprints[0], 'an added field renames nothing');
    const later = compileUpcaster(epochsOf([text('a')], [text('a')], [text('b', 'a')])).fingerprint;
    assert.equal(later, fingerprints[1], 'in one log a change of names has one position, which may not be known yet');
  });

  it('normalises times of day of a field that is a time in the newest schema, under its present name', () => {
    const time = (name: string, renamedFrom?: string): FieldConfig => {
      return { name, type: 'time', ...(renamedFrom ? { renamedFrom } : {}) };
    };
    const within = (field: FieldConfig): FieldConfig[] => [
      { type: 'row', fields: [field] },
      { name: 'object', type: 'object', fields: [field] },
      { name: 'array', type: 'array', fields: [field, { name: 'deep', type: 'object', fields: [field] }] },
      {
        name: 'blocks',
        type: 'blocks',
        blocks: [
          { slug: 'one', fields: [field] },
          { slug: 'two', fields: [text('at')] },
        ],
      },
    ];
    const values = (name: string, at: string): JsonObject => ({
      [name]: at,
      object: { [name]: at },
      array: [{ [name]: at, deep: { [name]: at } }, { [name]: null, deep: null }, 'of another type'],
      blocks: [{ blockType: 'one', [name]: at }, { blockType: 'two', at: '10:00:00' }, null],
    });
    const renamed = epochsOf(within(time('at')), within(time('opens', 'at')));
    for (const [recorded, shown] of [
      ['10:00:00', '10:00'],
      ['10:00', '10:00'],
      ['10:00:30', '10:00:30'],
      ['noon', 'noon'],
      ['24:00:00', '24:00:00'],
    ] as const) {
      assert.deepEqual(upcastAt(2, renamed, values('at', recorded)), values('opens', shown));
      assert.deepEqual(upcastAt(12, renamed, values('opens', recorded)), values('opens', shown));
    }
    assert.deepEqual(upcastAt(2, epochsOf([text('at')], [time('at')]), { at: '10:00:00' }), { at: '10:00' });
    assert.deepEqual(upcastAt(2, epochsOf([time('at')], [text('at')]), { at: '10:00:00' }), { at: '10:00:00' });
    assert.deepEqual(upcastAt(2, epochsOf([time('at')], null), { at: '10:00:00' }), { at: '10:00' });
    assert.deepEqual(upcastAt(2, epochsOf([time('at')]), { at: '10:00:00' }, 'others'), { at: '10:00:00' });
  });

  it('carries values over after a start without renamedFrom, and what was written since then stays', () => {
    const epochs = epochsOf([text('title')], [text('headline')], [text('headline', 'title')]);
    assert.deepEqual(upcastAt(2, epochs, { title: 'a' }), { headline: 'a' });
    assert.deepEqual(upcastAt(12, epochs, { headline: 'b' }), { headline: 'b' });
    assert.deepEqual(upcastAt(22, epochs, { headline: 'c' }), { headline: 'c' });
    const later = epochsOf([text('title')], [], [text('headline', 'title')]);
    assert.deepEqual(upcastAt(2, later, { title: 'a' }), { headline: 'a' });
    const stays = epochsOf([text('title')], [text('headline')], [text('headline', 'title')], [text('headline')]);
    assert.deepEqual(upcastAt(2, stays, { title: 'a' }), { headline: 'a' });
    assert.equal(compileUpcaster(stays).fingerprint, compileUpcaster(epochs).fingerprint);
  });

  it('drops even then what an earlier field of the new name held', () => {
    const epochs = epochsOf(
      [text('title'), text('headline')],
      [text('title')],
      [text('headline')],
      [text('headline', 'title')],
    );
    assert.deepEqual(upcastAt(2, epochs, { title: 'a', headline: 'removed' }), { headline: 'a' });
    assert.deepEqual(upcastAt(2, epochs, { headline: 'removed' }), {});
    assert.deepEqual(upcastAt(12, epochs, { title: 'b' }), { headline: 'b' });
    assert.deepEqual(upcastAt(22, epochs, { headline: 'c' }), { headline: 'c' });
  });

  it('carries them over through what the new field was called meanwhile, and inside what is itself renamed late', () => {
    const chain = epochsOf([text('title')], [text('head')], [text('headline', 'head')], [text('headline', 'title')]);
    assert.deepEqual(upcastAt(2, chain, { title: 'a' }), { headline: 'a' });
    assert.deepEqual(upcastAt(12, chain, { head: 'b' }), { headline: 'b' });
    assert.deepEqual(upcastAt(22, chain, { headline: 'c' }), { headline: 'c' });
    const object = (name: string, inside: FieldConfig, renamedFrom?: string): FieldConfig => {
      return { name, type: 'object', fields: [inside], ...(renamedFrom ? { renamedFrom } : {}) };
    };
    const nested = epochsOf(
      [object('seo', text('title'))],
      [object('meta', text('head'))],
      [object('meta', text('head', 'title'), 'seo')],
    );
    assert.deepEqual(upcastAt(2, nested, { seo: { title: 'a' } }), { meta: { head: 'a' } });
    assert.deepEqual(upcastAt(12, nested, { meta: { head: 'b' } }), { meta: { head: 'b' } });
    const away = epochsOf([object('seo', text('a'))], [], [object('seo', text('b', 'a'))]);
    assert.deepEqual(upcastAt(2, away, { seo: { a: 'x' } }), { seo: { b: 'x' } });
  });

  it('carries nothing over twice, and says if there is nothing to carry over', () => {
    const said = (...fields: (readonly FieldConfig[])[]) => followNames(epochsOf(...fields)).names;
    const taken = epochsOf([text('a')], [text('b', 'a')], [text('c', 'b')], [text('c', 'a')]);
    assert.deepEqual(upcastAt(2, taken, { a: 'x' }), { c: 'x' });
    assert.deepEqual(followNames(taken).names, { problems: [], returning: new Map() });
    for (const [fields, problem] of [
      [
        [[text('title')], [text('head', 'titel')]],
        'head.renamedFrom: posts never had a field "titel", so there are no values to take; did you mean "title"?',
      ],
      [
        [[text('a'), text('b')], [text('b', 'a')]],
        'b.renamedFrom: posts.b was a field beside posts.a, and keeps its own values: it takes none of it; leave renamedFrom out',
      ],
      [
        [[text('a')], [text('b', 'a')], [text('b'), text('c', 'a')]],
        'c.renamedFrom: the values of "a" are those of posts.b since it was renamed',
      ],
    ] as const)
      assert.deepEqual(said(...fields).problems, [`posts.${problem}`]);
    for (const silent of [
      [[text('a', 'never')]],
      [[text('a', 'never')], [text('a', 'never'), text('more')]],
      [[text('a')], [text('b', 'a')], [text('b', 'a'), text('more')], [text('b')], [text('b', 'a')]],
    ])
      assert.deepEqual(said(...silent).problems, []);
    assert.deepEqual(
      [...said([text('a'), text('x')], [text('b')], [text('b', 'a'), text('x')]).returning.values()],
      [
        'posts.b takes the values that documents had as posts.a',
        'posts.x was there before: the values that documents had under that name are back',
      ],
    );
  });

  it('carries values over although the collection was away in between', () => {
    const epochs = epochsOf([text('a')], null, [text('b', 'a')]);
    assert.deepEqual(upcastAt(2, epochs, { a: 'x' }), { b: 'x' });
  });
});
