import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { csvRow, harmless, jsonCell } from '../../../server/audit/exports/csv.ts';

/** The cells that a program reads from a row, given the character that it takes for the separator. */
function cellsOf(row: string, separator: string): string[] {
  const cells = [''];
  let isQuoted = false;
  for (const character of row.replace(/\r\n$/, '')) {
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && character === separator) cells.push('');
    else cells[cells.length - 1] += character;
  }
  return cells;
}

/** A program with another separator sees quotes in the middle of a cell as quotes. */
function splitPlainly(row: string, separator: string): string[] {
  return row.split(separator);
}

/**
 * Behind what programs pass over. A text that was made harmless begins with an apostrophe, which programs do not pass
 * over.
 */
const formula = /^[\s"\u200b\u00a0\ufeff]*[=+\-@＝＋－＠﹦﹢﹣﹫−]/u;
const nasty = fc.string({
  unit: fc.constantFrom(...'=+-@\t\r\n"\',; aé1＝＋－＠﹣−\u200b\u00a0\ufeff|'),
  maxLength: 12,
});

describe('A row of CSV', () => {
  it('has no cell that begins like a formula, whichever the list separator is', () => {
    fc.assert(
      fc.property(fc.array(nasty, { minLength: 1, maxLength: 4 }), (texts) => {
        const row = csvRow(texts);
        assert.equal(cellsOf(row, ',').length, texts.length);
        const cells = [...cellsOf(row, ','), ...splitPlainly(row, ';'), ...splitPlainly(row, '\t')];
        for (const cell of cells) assert.doesNotMatch(cell, formula, JSON.stringify(row));
      }),
      { numRuns: 2000 },
    );
  });

  it('leaves texts as they are that no program takes for a formula', () => {
    for (const text of ['', 'posts/01a2', '2026-11-22T05:00:00Z', '{"a":-1}', 'a-b', '3 = 3', 'Grüße, Welt']) {
      assert.equal(harmless(text), text);
    }
  });

  it('puts an apostrophe before the others, also if white space, quotes or look-alikes hide them', () => {
    for (const text of ['=1', '+1', '-1', '@x', '\t=1', '\rx', ' =1', '"=1', '“=1', '\u200b=1', '＝1', '−1', "'x"]) {
      assert.equal(harmless(text).replace(/(?<=[\t\r])'/, ''), `'${text}`);
    }
    assert.equal(harmless('see;=1+1'), "see;'=1+1");
    assert.equal(harmless('see\n@x'), "see\n'@x");
    assert.equal(harmless('a; b'), 'a; b');
  });

  it('keeps the value of JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        assert.deepEqual(JSON.parse(jsonCell(value)), JSON.parse(JSON.stringify(value)));
        assert.ok(!jsonCell(value).includes(';'));
      }),
      { numRuns: 100 },
    );
  });
});
