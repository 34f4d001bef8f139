import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

const text = readFileSync(new URL('../../verify/annals-verify.mjs', import.meta.url), 'utf8');
const [top = ''] = text.split('*/');

function titlesIn(part: string, pattern: RegExp): string[] {
  return Array.from(part.matchAll(pattern), ([, title = '']) => title);
}

describe('The contents at the top of annals-verify.mjs', () => {
  it('name its parts, numbered from 1, in the order in which they stand', () => {
    const titles = titlesIn(text, /^\/\/ -+\n\/\/ (.+)\n\/\/ -+$/gm);
    assert.ok(titles.length > 10);
    assert.deepEqual(titlesIn(top, /^ \* {3,4}(\d+\. .+)$/gm), titles);
    assert.deepEqual(
      titles.map((title) => Number.parseInt(title, 10)),
      titles.map((_, index) => index + 1),
    );
  });
});
