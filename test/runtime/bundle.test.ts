import assert from 'node:assert/strict';
import { mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { oldCheckout } from './checkout.ts';
import { run } from './running.ts';

const sources = ['cli/service/serve.ts', 'node_modules/some-package/index.js'];

/** A checkout whose service prints the code it runs from, with a bundle that is made of two files. */
function bundledCheckout(t: TestContext): string {
  const folder = oldCheckout(t);
  for (const path of ['cli/service', 'node_modules/some-package', 'build/bundle'])
    mkdirSync(join(folder, path), { recursive: true });
  for (const path of sources) writeFileSync(join(folder, path), 'export {};');
  writeFileSync(join(folder, 'cli/main.js'), 'console.log("sources", ...process.argv.slice(2));');
  writeFileSync(join(folder, 'build/bundle/main.mjs'), 'console.log("bundle", ...process.argv.slice(2));');
  const made = sources.map((path) => {
    const { size, mtimeMs } = statSync(join(folder, path));
    return [path, size, mtimeMs];
  });
  writeFileSync(join(folder, 'build/bundle/manifest.json'), JSON.stringify({ made, written: ['main.mjs'] }));
  return folder;
}

async function startedFrom(t: TestContext, folder: string): Promise<string> {
  const running = run(t, folder, ['runtime/annals.js', 'serve', '--help'], { IS_NEW_ENOUGH: 'yes' });
  assert.deepEqual(await running.ended, [0, null], running.output().stderr);
  return running.output().stdout;
}

describe('A checkout with a bundle', () => {
  it('starts from it as long as each file that it is made of is as it was', async (t) => {
    assert.equal(await startedFrom(t, bundledCheckout(t)), 'bundle serve --help\n');
  });

  const changes: Record<string, (folder: string) => void> = {
    'a source has other text of the same length': (folder) =>
      writeFileSync(join(folder, sources[0] as string), 'import {};'),
    'a source has the time of another one': (folder) => utimesSync(join(folder, sources[0] as string), 1, 1),
    'a source is gone': (folder) => rmSync(join(folder, sources[0] as string)),
    'a package has other text': (folder) => writeFileSync(join(folder, sources[1] as string), 'export default 1;'),
    'the bundle was not finished': (folder) => writeFileSync(join(folder, 'build/bundle/manifest.json'), '{ "made": ['),
    'the bundle is missing': (folder) => rmSync(join(folder, 'build'), { recursive: true }),
  };
  for (const [when, change] of Object.entries(changes)) {
    it(`starts from the sources if ${when}`, async (t) => {
      const folder = bundledCheckout(t);
      change(folder);
      assert.equal(await startedFrom(t, folder), 'sources serve --help\n');
    });
  }
});
