import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { apiReports } from './reports.ts';

const reports = apiReports();

describe('The public types of the package', () => {
  for (const [name, text] of reports) {
    it(`are those of test/api-report/${name}: else npm run api-report writes it anew`, () => {
      assert.equal(readFileSync(join(import.meta.dirname, name), 'utf8'), text);
    });
  }

  it('have a report for each entry of the package, and no other', () => {
    assert.deepEqual(globSync('*.txt', { cwd: import.meta.dirname }).sort(), [...reports.keys()].sort());
    for (const [name, text] of reports) assert.match(text, /^exports: \w+/, name);
  });
});
