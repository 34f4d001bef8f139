import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { asOfText, localText, momentsOf, suggestedMoment } from '../../admin/src/frame/as-of-moments.ts';
import { differenceOf, lineOf, relatedIn } from '../../admin/src/pages/history/values.ts';
import type { Field } from '../../admin/src/schema/fields.ts';

const text: Field = { name: 'title', type: 'text' };
const borders: Field = { name: 'borders', type: 'relationship', relationTo: 'countries', hasMany: true };

describe('The difference of a value', () => {
  it('of a text is told by words', () => {
    assert.deepEqual(differenceOf(text, 'Federal Republic of Germany', 'Republic of all Germany'), {
      kind: 'text',
      pieces: [
        { kind: 'removed', text: 'Federal ' },
        { kind: 'same', text: 'Republic of ' },
        { kind: 'added', text: 'all ' },
        { kind: 'same', text: 'Germany' },
      ],
    });
  });

  it('of any two texts gives both of them back', () => {
    const word = fc.constantFrom('a', 'b', 'long word', ' ', '\n', 'Ä', '😀', '-');
    const line = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(' '));
    fc.assert(
      fc.property(line, line, (before, after) => {
        const difference = differenceOf(text, before, after);
        assert.ok(difference.kind === 'text');
        const join = (kind: string) =>
          difference.pieces.flatMap((piece) => (piece.kind === kind ? [] : [piece.text])).join('');
        assert.deepEqual([join('added'), join('removed')], [before, after]);
      }),
    );
  });

  it('of a text that was empty, of a choice and of a truth is told as a pair', () => {
    assert.deepEqual(differenceOf(text, null, 'New'), { kind: 'pair', before: null, after: 'New' });
    const status: Field = { name: 'status', type: 'select', options: [{ label: 'Out', value: 'published' }] };
    assert.deepEqual(differenceOf(status, 'old', 'published'), { kind: 'pair', before: 'old', after: 'Out' });
    const landlocked: Field = { name: 'landlocked', type: 'boolean' };
    assert.deepEqual(differenceOf(landlocked, false, true), { kind: 'pair', before: '✗', after: '✓' });
  });

  it('of relationships names what came and what went, for their titles', () => {
    const difference = differenceOf(borders, ['a', 'b'], ['b', 'c']);
    assert.ok(difference.kind === 'list');
    assert.deepEqual(
      difference.items.map(({ kind, value }) => [kind, typeof value === 'object' && 'id' in value && value.id]),
      [
        ['removed', 'a'],
        ['same', 'b'],
        ['added', 'c'],
      ],
    );
    assert.deepEqual(
      relatedIn(difference).map(({ relationTo, id }) => `${relationTo}/${id}`),
      ['countries/a', 'countries/b', 'countries/c'],
    );
    const one = differenceOf({ name: 'region', type: 'relationship', relationTo: 'regions' }, null, 'x');
    assert.deepEqual(one, { kind: 'pair', before: null, after: { relationTo: 'regions', id: 'x' } });
  });

  it('of an object is that of the fields inside that differ', () => {
    const field: Field = {
      name: 'place',
      type: 'object',
      fields: [text, { name: 'area', type: 'number', label: 'km²' }],
    };
    assert.deepEqual(differenceOf(field, { title: 'A', area: 1 }, { title: 'A', area: 2 }), {
      kind: 'fields',
      fields: [{ label: 'km²', difference: { kind: 'pair', before: '1', after: '2' } }],
    });
  });

  it('of rich text is that of its words, and of blocks that of their lines', () => {
    const doc = (words: string) => ({
      type: 'doc',
      content: [{ type: 'paragraph', content: [{ type: 'text', text: words }] }],
    });
    const rich = differenceOf({ name: 'body', type: 'richText' }, doc('one two'), doc('one three'));
    assert.deepEqual(rich.kind === 'text' && rich.pieces.map((piece) => `${piece.kind}: ${piece.text}`), [
      'same: one ',
      'removed: two',
      'added: three',
    ]);
    const blocks: Field = {
      name: 'parts',
      type: 'blocks',
      blocks: [{ slug: 'quote', label: 'Quote', fields: [{ name: 'words', type: 'text' }] }],
    };
    assert.equal(lineOf(blocks, { blockType: 'quote', words: 'Hi' }), 'Quote · Words: Hi');
  });

  it('of items names the documents they refer to, at any depth, and tells equal titles apart by id', () => {
    const places: Field = {
      name: 'places',
      type: 'array',
      fields: [
        text,
        borders,
        { name: 'more', type: 'object', fields: [{ name: 'flag', type: 'upload', relationTo: 'flags' }] },
        { name: 'kinds', type: 'multiSelect', options: [{ label: 'An island', value: 'island' }] },
      ],
    };
    const item = (id: string) => ({ title: 'Here', borders: ['a', id], more: { flag: 'f' }, kinds: ['island'] });
    const difference = differenceOf(places, [item('b')], [item('b'), item('c')]);
    const related = (relationTo: string, id: string) => ({ relationTo, id });
    const line = (id: string) => [
      'Title: Here · Borders: ',
      related('countries', 'a'),
      ', ',
      related('countries', id),
      ' · More: Flag: ',
      related('flags', 'f'),
      ' · Kinds: An island',
    ];
    assert.deepEqual(difference, {
      kind: 'list',
      items: [
        { kind: 'same', value: line('b') },
        { kind: 'added', value: line('c') },
      ],
    });
    assert.deepEqual(
      relatedIn(difference).map(({ id }) => id),
      ['a', 'b', 'f', 'a', 'c', 'f'],
    );
  });
});

describe('The moment that is shown', () => {
  it('is what was chosen, with its zone', () => {
    assert.equal(asOfText(''), null);
    assert.equal(asOfText('2026-03-03T23:59:59'), new Date(2026, 2, 3, 23, 59, 59).toISOString().replace('.000Z', 'Z'));
    assert.equal(localText(new Date(2026, 2, 3, 23, 59, 59)), '2026-03-03T23:59:59');
    assert.equal(localText(new Date(Number.NaN)), '');
  });

  const now = new Date(2026, 10, 23, 12);
  const hour = 3600 * 1000;
  const ago = (hours: number) => new Date(now.getTime() - hours * hour);

  it('is offered only if the log had begun, and something was changed', () => {
    const offered = (first: Date | null, changes: number[]) => momentsOf({ size: 99, first, changes }, now);
    assert.deepEqual(offered(null, []), []);
    assert.deepEqual(offered(ago(1), []), []);
    assert.deepEqual(offered(ago(1), [1]), [], 'nothing is before the first event');
    assert.deepEqual(offered(ago(1), [7, 9]), [['asOfBeforeLast', '8']]);
    const ten = Array.from({ length: 12 }, (_, index) => 20 + index);
    assert.deepEqual(offered(ago(13), ten), [
      ['asOfBeforeLast', '30'],
      ['asOfBeforeLastTen', '21'],
      ['asOfToday', new Date(2026, 10, 23).toISOString()],
    ]);
    assert.deepEqual(offered(null, Array(12).fill(5)), [['asOfBeforeLast', '4']], 'many that were made together');
    const all = offered(ago(24 * 365), []);
    assert.deepEqual(
      all.map(([name]) => name),
      ['asOfToday', 'asOfDayAgo', 'asOfWeekAgo', 'asOfMonthAgo', 'asOfYearStart'],
    );
    assert.deepEqual(all[2], ['asOfWeekAgo', ago(24 * 7).toISOString()]);
    assert.deepEqual(all[4], ['asOfYearStart', new Date(2026, 0, 1).toISOString()]);
  });

  it('is suggested as a day ago, or the beginning of a younger log', () => {
    assert.deepEqual(suggestedMoment(ago(99), now), ago(24));
    assert.deepEqual(suggestedMoment(new Date(ago(2).getTime() + 1), now), new Date(ago(2).getTime() + 1000));
    assert.deepEqual(suggestedMoment(null, now), now);
  });
});
