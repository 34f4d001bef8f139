import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countedIn } from '../../admin/src/words/counting.ts';
import { de } from '../../admin/src/words/de/index.ts';
import { en } from '../../admin/src/words/en/index.ts';

describe('The words of the interface', () => {
  it('count as the language does', () => {
    const counted = countedIn('en');
    assert.deepEqual(
      [0, 1, 2, 12_345].map((count) => counted(count, '# file', '# files')),
      ['0 files', '1 file', '2 files', '12,345 files'],
    );
    assert.equal(countedIn('de')(12_345, '# Datei', '# Dateien'), '12.345 Dateien');
    assert.equal(en.palette.foundCount(20, 1_000), '20 of 1,000 documents');
    assert.equal(de.palette.foundCount(20, 1_000), '20 von 1.000 Dokumenten');
    assert.equal(en.palette.foundCount(1, 1), '1 document');
  });
});
