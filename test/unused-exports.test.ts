import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';

const root = join(import.meta.dirname, '..');
/**
 * The number of exports that no other file imports, by folder. These are upper bounds that only decrease, until each is
 * 0: a name that only its own file uses needs no `export`. The ones of cli/ are in a text that `annals types` writes.
 */
const left: Record<string, number> = {
  'admin/src': 0,
  cli: 10,
  client: 0,
  config: 0,
  events: 0,
  projections: 0,
  server: 0,
  storage: 0,
};

/** Exports that are taken from outside: by authors and readers of the package. */
const entries = new Set(['config/index.ts', 'client/index.ts', 'server/index.ts']);

const text = new Map(
  globSync(
    '{admin/src,bench,binary,cli,client,config,events,examples,projections,server,storage,test,verify}/**/*.{ts,tsx,js,mjs}',
    {
      cwd: root,
      exclude: (name) => name === 'node_modules' || name === 'dist',
    },
  )
    .concat(globSync('*.ts', { cwd: root }))
    .map((file) => file.replaceAll('\\', '/'))
    .map((file) => [file, readFileSync(join(root, file), 'utf8')]),
);

/** The exports that a file imports from others, each as `file name`; `file *` for all of a file. */
function takenIn(file: string, source: string): string[] {
  const resolved = (specifier: string) => normalize(join(dirname(file), specifier)).replaceAll('\\', '/');
  const named = [...source.matchAll(/(?:import|export)(?: type)?(?: \w+,)? \{([^}]*)\} from '(\.[^']+)'/g)].flatMap(
    ([, list = '', from = '']) =>
      list.split(',').map(
        (one) =>
          `${resolved(from)} ${
            one
              .trim()
              .replace(/^type /, '')
              .split(' as ')[0]
          }`,
      ),
  );
  const whole = [
    ...source.matchAll(/(?:import|export)(?: type)? \*(?: as \w+)? from '(\.[^']+)'/g),
    ...source.matchAll(/(?:\bimport\(|startThread\(\s*|new URL\()\s*'(\.[^']+)'/g),
  ].map(([, from = '']) => `${resolved(from)} *`);
  return [...named, ...whole];
}

const taken = new Set([...text].flatMap(([file, source]) => takenIn(file, source)));

/** The names that a file exports and no other file takes. */
function unusedIn(file: string, source: string): string[] {
  if (taken.has(`${file} *`)) return [];
  const declared = source.matchAll(
    /^export (?:declare )?(?:async )?(?:type|interface|class|const|function\*?) (\w+)/gm,
  );
  return [...new Set([...declared].map(([, name = '']) => name))].filter((name) => !taken.has(`${file} ${name}`));
}

describe('An export', () => {
  for (const [folder, most] of Object.entries(left)) {
    it(`of ${folder}/ is taken by another file`, () => {
      const unused = [...text]
        .filter(([file]) => file.startsWith(`${folder}/`) && !entries.has(file))
        .flatMap(([file, source]) => unusedIn(file, source).map((name) => `${file}: ${name}`));
      assert.ok(unused.length <= most, `${unused.length} in ${folder}/:\n${unused.join('\n')}`);
    });
  }
});
