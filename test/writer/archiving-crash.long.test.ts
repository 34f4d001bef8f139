import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { eventOf, readLog } from '../../events/log/log-reader.ts';
import { segmentsOf } from '../../events/segments/segments.ts';
import { verifyLog } from '../../events/verify/verify.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { remainsIn } from '../helpers/leftovers.ts';
import { roundsOf } from '../helpers/rounds.ts';
import { temporaryFolder } from '../helpers/service.ts';

const rounds = roundsOf(12, 5);
const child = new URL('./archiving-child.ts', import.meta.url).pathname;

describe('a log that is archived, killed at any moment', () => {
  it('has every payload that was answered, or the erasure of it, and goes on', async (t) => {
    const directory = join(temporaryFolder(t), 'data');
    mkdirSync(directory);
    const answered = new Map<number, string>();
    const erased = new Set<string>();
    const clean = new Set<string>();
    let archived = 0;
    for (let round = 0; round < rounds; round += 1) {
      const running = spawn(process.execPath, [child, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
      let text = '';
      running.stdout.setEncoding('utf8').on('data', (more: string) => {
        text += more;
      });
      const lines = 1 + Math.floor(Math.random() * 70);
      for (const before = Date.now(); text.split('\n').length <= lines && Date.now() - before < 60_000; ) await wait(5);
      await wait(Math.random() * 100);
      running.kill('SIGKILL');
      await once(running, 'close');
      for (const line of text.split('\n').slice(0, -1)) {
        const [what = '', one = '', id = ''] = line.split(' ');
        assert.notEqual(what, 'died', line);
        if (what === 'at') answered.set(Number(one), id);
        else if (what === 'erased') erased.add(one);
        else clean.add(one);
      }
      withDatabase(join(directory, 'log.db'), { readonly: true }, (db) => {
        assert.equal(
          verifyLog(db, () => {}),
          null,
        );
        archived = segmentsOf(db).length;
        const log = readLog(db);
        for (const [position, id] of answered) {
          const [text] = log.texts(position - 1, position);
          const { data, header } = eventOf(text as { header: string; body: string | null });
          assert.equal(header.stream, `posts/${id}`);
          // An erasure may be recorded, and its answer lost.
          const isErased = log.versionOf(header.stream) > 1;
          assert.ok(isErased || !erased.has(header.stream));
          assert.equal(data === null, isErased, header.stream);
          if (data) assert.match(String(data.title), new RegExp(`^Mark-${id}-`));
        }
      });
      const gone = [...clean].map((stream) => `Mark-${stream.slice('posts/'.length)}-`);
      assert.deepEqual(remainsIn(directory, gone), []);
    }
    assert.ok(
      answered.size > (100 * rounds) / 12 && archived > rounds / 12 && clean.size > 0,
      `${answered.size} ${archived} ${clean.size}`,
    );
  });
});
