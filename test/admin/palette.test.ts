import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { fitting } from '../../admin/src/pages/palette/entries.ts';
import { piecesOf } from '../../admin/src/pages/palette/excerpt.ts';
import { mostRecent, recentOf, withRecent } from '../../admin/src/pages/palette/recent-list.ts';
import { isField, keysOf, type Pending, pressOf } from '../../admin/src/shell/shortcuts.ts';

const press = (key: string, held: object = {}) =>
  pressOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...held });

describe('the palette', () => {
  it('takes an excerpt apart into texts, and shows no tag but the mark as one', () => {
    assert.deepEqual(piecesOf('a <mark>b</mark> &lt;mark&gt;c &amp;lt; d&#39;s'), [
      { text: 'a ', isMarked: false },
      { text: 'b', isMarked: true },
      { text: " <mark>c &lt; d's", isMarked: false },
    ]);
    const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ minLength: 1 }), fc.boolean())), (parts) => {
        const html = parts
          .map(([text, isMarked]) => (isMarked ? `<mark>${escaped(text)}</mark>` : escaped(text)))
          .join('');
        const text = piecesOf(html)
          .map((piece) => piece.text)
          .join('');
        assert.equal(text, parts.map(([part]) => part).join(''));
      }),
    );
  });

  it('finds pages by the beginnings of their words, the best first', () => {
    const pages = ['Media', 'New Media file', 'Öffnen', 'Intermediate'].map((name) => ({ name }));
    assert.deepEqual(
      fitting(pages, 'media').map(({ name }) => name),
      ['Media', 'New Media file', 'Intermediate'],
    );
    assert.deepEqual(
      fitting(pages, 'off').map(({ name }) => name),
      ['Öffnen'],
    );
    assert.deepEqual(
      fitting(pages, 'fi me').map(({ name }) => name),
      ['New Media file'],
    );
    assert.equal(fitting(pages, '').length, 4);
    assert.deepEqual(fitting(pages, 'xyz'), []);
  });

  it('remembers the last documents, each once, and reads nothing out of what is broken', () => {
    const opened = ['a', 'b', 'a', ...Array.from({ length: 20 }, (_, index) => `n${index}`), 'a'];
    const kept = opened.reduce((before, id) => withRecent(before, { slug: 's', id }), recentOf(null));
    assert.equal(kept.length, mostRecent);
    assert.deepEqual(
      kept.slice(0, 2).map(({ id }) => id),
      ['a', 'n19'],
    );
    for (const text of ['{', '3', '[1,null,{"slug":1}]', 'null']) assert.deepEqual(recentOf(text), []);
  });
});

describe('shortcuts', () => {
  it('are read from a press, with the modifier of the system', () => {
    assert.equal(press('K', { ctrlKey: true }), 'mod+k');
    assert.equal(press('p', { metaKey: true, shiftKey: true }), 'mod+shift+p');
    assert.equal(press('?', { shiftKey: true }), '?');
    assert.equal(press('n', { altKey: true }), null);
    assert.equal(press('Shift'), null);
  });

  it('may be two keys, within a second', () => {
    const known = ['g h', 'h', 'n'];
    const type = (keys: [string, number][]) => {
      let pending: Pending = null;
      return keys.map(([key, at]) => {
        const found = keysOf(key, { pending, at, known });
        pending = found.pending;
        return found.keys;
      });
    };
    assert.deepEqual(
      type([
        ['g', 0],
        ['h', 500],
      ]),
      [null, 'g h'],
    );
    assert.deepEqual(
      type([
        ['g', 0],
        ['h', 1_500],
      ]),
      [null, 'h'],
    );
    assert.deepEqual(
      type([
        ['g', 0],
        ['g', 10],
        ['h', 20],
      ]),
      [null, null, 'g h'],
    );
    assert.deepEqual(
      type([
        ['g', 0],
        ['n', 10],
        ['h', 20],
      ]),
      [null, 'n', 'h'],
    );
  });

  it('leave letters to fields', () => {
    for (const tagName of ['INPUT', 'TEXTAREA', 'SELECT']) assert.equal(isField({ tagName }), true);
    assert.equal(isField({ tagName: 'DIV', isContentEditable: true }), true);
    assert.equal(isField({ tagName: 'INPUT', type: 'checkbox' }), false);
    assert.equal(isField({ tagName: 'A' }), false);
    assert.equal(isField(null), false);
  });
});
