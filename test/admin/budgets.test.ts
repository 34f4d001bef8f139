import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const root = fileURLToPath(new URL('../../', import.meta.url));
const built = join(root, 'admin/dist');
const kB = 1000;

/** Sizes of files together, compressed as the service sends them. */
const sizeOf = (files: Iterable<string>) =>
  [...files].reduce((sum, file) => sum + gzipSync(readFileSync(join(built, 'assets', file)), { level: 9 }).length, 0);

/** A script and all that it imports before it runs. */
function closureOf(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  const text = readFileSync(join(built, 'assets', file), 'utf8');
  for (const [, name = ''] of text.matchAll(/(?:\bfrom|\bimport)\s*["']\.\/([\w.-]+\.js)["']/g)) closureOf(name, found);
  return found;
}

describe('The built admin application', () => {
  let page = '';
  let entry = new Set<string>();
  before(() => {
    assert.ok(existsSync(join(built, 'index.html')), 'it is not built: npm run build --workspace admin');
    page = readFileSync(join(built, 'index.html'), 'utf8');
    const scripts = [...page.matchAll(/(?:src|href)="\.\/assets\/([\w.-]+\.js)"/g)].map(([, name = '']) => name);
    assert.ok(scripts.length > 0);
    entry = new Set(scripts.flatMap((name) => [...closureOf(name)]));
  });

  it('starts with 220 kB of script at most', () => {
    const size = sizeOf(entry);
    assert.ok(size > 50 * kB && size <= 220 * kB, `${size}`);
  });

  it('has 30 kB of styles at most', () => {
    const files = [...page.matchAll(/href="\.\/assets\/([\w.-]+\.css)"/g)].map(([, name = '']) => name);
    const size = sizeOf(files);
    assert.ok(size > 5 * kB && size <= 30 * kB, `${size}`);
  });

  it('loads the editor of rich text if one is shown, 140 kB of it at most', () => {
    const scripts = globSync('assets/*.js', { cwd: built }).map((file) => basename(file));
    const editors = scripts.filter((name) => readFileSync(join(built, 'assets', name), 'utf8').includes('ProseMirror'));
    assert.deepEqual(
      editors.filter((name) => entry.has(name)),
      [],
    );
    const own = new Set(editors.flatMap((name) => [...closureOf(name)]).filter((name) => !entry.has(name)));
    assert.ok(own.size > 0 && sizeOf(own) <= 140 * kB, `${sizeOf(own)}`);
  });

  it('is 1.75 MiB of files at most, but for the licences, which no browser asks for', () => {
    const files = globSync('**/*', { cwd: built, exclude: (name) => name === 'licences.json' }).map((file) =>
      statSync(join(built, file)),
    );
    const size = files.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
    assert.ok(size <= 1.75 * 1024 * 1024, `${size}`);
  });

  it('holds no source map, and no address of the machine that built it', () => {
    for (const file of globSync('**/*.{js,css,html}', { cwd: built })) {
      const text = readFileSync(join(built, file), 'utf8');
      assert.ok(!text.includes('sourceMappingURL=') && !text.includes(root), file);
    }
    assert.deepEqual(globSync('**/*.map', { cwd: built }), []);
  });

  it('is made of 130 packages at most, those that build it included', () => {
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
    const found = new Set<string>();
    /** Resolves a package as Node does: beside the one that imports it, or further up. */
    const add = (place: string, name: string): void => {
      const candidate = join(place, 'node_modules', name).replaceAll('\\', '/');
      if (candidate in lock.packages) visit(candidate);
      else if (place !== '.') add(dirname(place), name);
    };
    const visit = (place: string): void => {
      // Packages for other systems are not installed here.
      if (found.has(place) || !existsSync(join(root, place))) return;
      found.add(place);
      const { dependencies, optionalDependencies, peerDependencies } = lock.packages[place];
      for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }))
        add(place, name);
    };
    for (const name of Object.keys(lock.packages.admin.devDependencies)) add('admin', name);
    assert.ok(found.size > 40 && found.size <= 130, `${found.size}`);
  });
});
