import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { watchSources } from '../../cli/service/source-watch.ts';
import type { ModuleSource } from '../../server/settings/modules.ts';
import { eventually, useFolder } from '../helpers/shared.ts';

const folder = useFolder();

/** Watches two files, each as read with this text. `reads` says which of them a call of `run` can read. */
function watching(t: TestContext, name: string, reads: readonly string[]) {
  const own = join(folder, name);
  mkdirSync(own);
  const file = (one: string) => join(own, one);
  const sources = new Map<string, ModuleSource>();
  const read = (one: string) => {
    const source = readFileSync(file(one), 'utf8');
    sources.set(pathToFileURL(file(one)).href, { format: 'module', source });
  };
  const save = (one: string, text: string) => writeFileSync(file(one), text);
  for (const one of ['a.js', 'b.js']) {
    save(one, 'one');
    read(one);
  }
  let runs = 0;
  const begin = () => {
    const unwatch = watchSources(
      () => ({ sources, isWrong: false }),
      async () => {
        runs += 1;
        for (const one of reads) read(one);
      },
    );
    t.after(unwatch);
  };
  return { begin, save, remove: (one: string) => rmSync(file(one)), runs: () => runs };
}

describe('The files of a configuration that are watched', () => {
  it('are compared as the watch begins, so that what was saved before that is read', async (t) => {
    const { begin, save, runs } = watching(t, 'before', ['a.js']);
    save('a.js', 'two');
    begin();
    await eventually(() => runs() === 1);
    save('a.js', 'three');
    await eventually(() => runs() === 2);
  });

  it('are told of once if they cannot be read, until they are saved again', async (t) => {
    const { begin, save, remove, runs } = watching(t, 'unread', []);
    begin();
    save('a.js', 'const a = [;');
    await eventually(() => runs() === 1);
    // Four times the pause after which a file is looked at.
    await wait(400);
    assert.equal(runs(), 1);
    save('a.js', 'const a = [');
    await eventually(() => runs() === 2);
    remove('b.js');
    await eventually(() => runs() === 3);
    await wait(400);
    assert.equal(runs(), 3);
  });
});
