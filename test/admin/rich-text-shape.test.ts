import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { holds, withMarksInOrder, withTextsJoined } from '../../admin/src/pages/document/inputs/rich-text/kept.ts';
import { linkOf, shapeOf, usedFeatures, withoutNulls } from '../../admin/src/pages/document/inputs/rich-text/shape.ts';

const text = (words: string, ...marks: object[]) => ({ type: 'text', text: words, ...(marks.length ? { marks } : {}) });
const doc = (...content: unknown[]) => ({ type: 'doc', content });
const paragraph = (...content: unknown[]) => ({ type: 'paragraph', content });

describe('the shape of rich text', () => {
  it('is a document that the editor knows all of', () => {
    const value = doc(
      { type: 'heading', attrs: { level: 2 }, content: [text('Tea')] },
      paragraph(text('It ', { type: 'bold' }), text('came', { type: 'link', attrs: { href: '/tea' } })),
      { type: 'image', attrs: { collection: 'pictures', id: 'x', alt: 'A cup' } },
    );
    assert.deepEqual(shapeOf(value), { kind: 'doc', doc: value });
    assert.deepEqual([...usedFeatures(value)].sort(), ['bold', 'heading', 'image', 'link']);
  });

  it('is an empty document if there is no value', () => {
    assert.deepEqual(shapeOf(null), { kind: 'doc', doc: null });
    assert.deepEqual(shapeOf(undefined), { kind: 'doc', doc: null });
  });

  it('is foreign for any other JSON', () => {
    for (const value of ['text', 3, true, [], {}, { root: {} }, { type: 'paragraph' }, { type: 'doc', content: 'x' }]) {
      assert.deepEqual(shapeOf(value), { kind: 'foreign' }, JSON.stringify(value));
    }
  });

  it('names the nodes, marks, attributes and members that the editor would lose', () => {
    const cases: [unknown, string[]][] = [
      [doc({ type: 'table' }), ['table']],
      [doc(paragraph(text('x', { type: 'highlight' }))), ['highlight']],
      [doc({ type: 'paragraph', attrs: { textAlign: 'center' } }), ['paragraph.textAlign']],
      [doc({ type: 'paragraph', version: 3 }), ['paragraph.version']],
      [{ ...doc(), meta: 1 }, ['doc.meta']],
      [doc(null), ['null']],
      [doc(paragraph({ type: 'mention', attrs: { id: 'a' } }), { type: 'table' }), ['mention', 'table']],
      [doc({ type: '__proto__' }), ['__proto__']],
    ];
    for (const [value, parts] of cases) assert.deepEqual(shapeOf(value), { kind: 'unknown', parts });
  });

  it('does not mind attributes without a value', () => {
    assert.equal(shapeOf(doc({ type: 'paragraph', attrs: { textAlign: null } })).kind, 'doc');
  });
});

describe('rich text as it is kept', () => {
  it('has no attributes without a value', () => {
    const value = doc(
      { type: 'codeBlock', attrs: { language: null }, content: [text('x')] },
      paragraph(text('y', { type: 'link', attrs: { href: '/y', target: null } })),
    );
    assert.deepEqual(
      withoutNulls(value),
      doc({ type: 'codeBlock', content: [text('x')] }, paragraph(text('y', { type: 'link', attrs: { href: '/y' } }))),
    );
  });

  it('keeps words that look like nothing', () => {
    assert.deepEqual(withoutNulls(paragraph(text('null'))), paragraph(text('null')));
  });
});

describe('the address of a link', () => {
  it('leads to the web, to mail, to a telephone, to a path or a place', () => {
    const good = ['https://example.org/a?b#c', 'http://x', 'mailto:a@b.org', 'tel:+49123', '/about', '#top'];
    for (const address of good) assert.equal(linkOf(` ${address} `), address);
    assert.equal(linkOf('example.org/tea'), 'https://example.org/tea');
    assert.equal(linkOf('ada@example.org'), 'mailto:ada@example.org');
  });

  it('never leads to a script, a file or another host by a path', () => {
    const bad = [
      '',
      'javascript:alert(1)',
      'JavaScript:alert(1)',
      'java\nscript:alert(1)',
      'data:text/html,x',
      'file:///etc/passwd',
      '//evil.example',
      '/\\evil.example',
      'vbscript:x',
      'https://',
      'words with spaces',
    ];
    for (const address of bad) assert.equal(linkOf(address), null, address);
  });
});

describe('rich text that the editor took', () => {
  it('is held if nothing but attributes were added', () => {
    const value = doc({ type: 'orderedList', content: [] }, paragraph(text('x', { type: 'bold' })));
    const given = doc({ type: 'orderedList', attrs: { start: 1, type: null } }, paragraph(text('x', { type: 'bold' })));
    assert.equal(holds(given, value), true);
    assert.equal(
      holds(doc({ type: 'orderedList', attrs: { start: 1 } }), doc({ type: 'orderedList', attrs: { start: 4 } })),
      false,
    );
  });

  it('is not held if a node, a mark, a word or an attribute is gone', () => {
    const value = doc(paragraph(text('x', { type: 'bold' }), text('y')), { type: 'heading', attrs: { level: 2 } });
    assert.equal(holds(value, value), true);
    assert.equal(holds(doc(paragraph(text('x'), text('y')), { type: 'heading', attrs: { level: 2 } }), value), false);
    assert.equal(holds(doc(paragraph(text('x', { type: 'bold' }), text('z'))), value), false);
    assert.equal(holds(doc(...value.content.slice(0, 1)), value), false);
    assert.equal(holds(doc(value.content[0], { type: 'heading', attrs: { level: 1 } }), value), false);
    assert.equal(holds(doc(value.content[0], { type: 'heading' }), value), false);
  });

  it('has neighbouring texts of the same marks as one', () => {
    const bold = { type: 'bold' };
    const value = doc(
      paragraph(text('a'), text('b'), text('c', bold), { ...text('d', bold), marks: [bold] }, text('e')),
    );
    const one = doc(paragraph(text('ab'), text('cd', bold), text('e')));
    assert.deepEqual(withTextsJoined(value), one);
    assert.deepEqual(withTextsJoined(one), one);
    const links = ['/a', '/b'].map((href) => text('x', { type: 'link', attrs: { href } }));
    assert.deepEqual(withTextsJoined(doc(paragraph(...links))), doc(paragraph(...links)));
  });

  it('has its marks in one order', () => {
    const [bold, link] = [{ type: 'bold' }, { type: 'link', attrs: { href: '/' } }];
    const ranks = ['link', 'bold'];
    const value = doc(paragraph(text('x', bold, link)));
    assert.deepEqual(
      withMarksInOrder(value, (mark) => ranks.indexOf(mark)),
      doc(paragraph(text('x', link, bold))),
    );
  });
});
