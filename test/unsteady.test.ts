import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

const file = new URL('./unsteady.json', import.meta.url);
const day = 24 * 3600 * 1000;

/** Why a list of tests that may fail once is refused: a line each. */
function problemsOf(list: unknown, today: number): string[] {
  if (!Array.isArray(list)) return ['it is no list'];
  const problems = list.length > 5 ? [`it has ${list.length} entries, and may have 5`] : [];
  for (const entry of list) {
    const { file = '', test = '', since = '', reason = '' } = entry;
    const at = `${file}: ${test}`;
    const age = today - Date.parse(since);
    if (!/^test\/.*\.test\.ts$/.test(file) || !existsSync(new URL(`../${file}`, import.meta.url)))
      problems.push(`${at}: there is no such file`);
    if (test === '') problems.push(`${at}: test is missing`);
    if (reason === '') problems.push(`${at}: reason is missing`);
    if (!(age >= 0 && age < 14 * day)) problems.push(`${at}: since ${since} is no day of the last fourteen`);
  }
  return problems;
}

describe('The list of unsteady tests', () => {
  it('has few tests, each for two weeks at most, with the reason', () => {
    assert.deepEqual(problemsOf(JSON.parse(readFileSync(file, 'utf8')), Date.now()), []);
  });

  it('is refused if it has more, or one for longer, or without a reason', () => {
    const today = Date.parse('2026-03-20T10:00:00Z');
    const entry = { file: 'test/unsteady.test.ts', test: 'x', since: '2026-03-10', reason: 'a wait that is too short' };
    const wrong = (...entries: object[]) => problemsOf(entries, today).length;
    assert.equal(wrong(entry), 0);
    assert.equal(wrong(...Array(6).fill(entry)), 1);
    for (const change of [
      { file: 'test/none.test.ts' },
      { test: '' },
      { since: '2026-03-05' },
      { since: '2026-03-21' },
      { since: 'lately' },
      { reason: '' },
    ])
      assert.equal(wrong({ ...entry, ...change }), 1, JSON.stringify(change));
  });
});
