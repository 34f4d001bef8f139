import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

const root = new URL('../../', import.meta.url);

/** The numbered sections of the contract; those that only hold others (2, 4) are left out. */
const sections: Record<string, string> = {
  1: 'The service',
  2.1: 'Document',
  2.2: 'Auth collection additions',
  2.3: 'Upload collection',
  2.4: 'Global',
  2.5: 'List response',
  2.6: 'Login and session objects',
  3: 'States and transitions',
  4.1: 'Collections',
  4.2: 'Upload',
  4.3: 'Globals',
  4.4: 'Auth endpoints',
  4.5: 'Schema',
  4.6: 'Preview',
  4.7: 'OpenAPI',
  4.8: 'Common query parameters',
  4.9: 'Filtering',
  5: 'Authentication',
  6: 'Events',
  7: 'Errors',
  8: 'Limits',
  9: 'Versioning',
};

/** The sections that the names of a source text's groups carry, as `A lock (3)` and `Unique fields (7: 409)` do. */
function sectionsIn(text: string): string[] {
  const names = [...text.matchAll(/\bdescribe\(\s*['"`](.*)['"`],/g)].map(([, name = '']) => name);
  const lists = names.flatMap((name) => [...name.matchAll(/\((\d[^)]*)\)/g)].map(([, list = '']) => list));
  return lists.flatMap((list) => list.split(', ')).flatMap((one) => /^\d(?:\.\d)?(?=$|:)/.exec(one)?.[0] ?? []);
}

describe('The names of test groups', () => {
  const files = globSync('test/**/*.test.ts', { cwd: root });
  const named = new Set(files.flatMap((file) => sectionsIn(readFileSync(new URL(file, root), 'utf8'))));

  it('carry every section of the contract', () => {
    const untested = Object.entries(sections).filter(([number]) => !named.has(number));
    assert.deepEqual(untested, []);
  });

  it('carry no other', () => {
    assert.deepEqual(
      [...named].filter((number) => !(number in sections)),
      [],
    );
  });

  it('are read in each of their forms', () => {
    const found = (name: string) => sectionsIn(`describe('${name}', () => {`);
    assert.deepEqual(found('limit and page (4.8, 8)'), ['4.8', '8']);
    assert.deepEqual(found('The size of a body (8: 1 MiB, else 413)'), ['8']);
    assert.deepEqual(found('the Merkle tree (RFC 6962, section 2.1)'), []);
    assert.deepEqual(found('A lock'), []);
  });
});
