import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pino } from 'pino';
import { createReadiness } from '../../../server/files/blobs/readiness.ts';
import { prepareIncoming } from '../../../server/files/blobs/store.ts';
import { BlobsRefusedError, BlobsUnavailableError } from '../../../storage/blobs.ts';
import { temporaryFolder } from '../../helpers/service.ts';
import { eventually } from '../../helpers/shared.ts';

const unreachable = () => Promise.reject(new BlobsUnavailableError('unreachable', 'the bucket does not answer'));
const refused = () => Promise.reject(new BlobsRefusedError('the bucket holds the files of another log'));

/** A store that answers in turn as it is told, the last answer for ever; and what is logged about it. */
function open(t: TestContext, answers: (() => Promise<void>)[], patience = 10_000) {
  const lines: { level: number; msg: string }[] = [];
  let tries = 0;
  async function prepare(): Promise<void> {
    tries += 1;
    await answers[Math.min(tries, answers.length) - 1]?.();
  }
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const milliseconds = { patience, shortest: 1, longest: 4 };
  const readiness = createReadiness({ prepare, log, milliseconds });
  t.after(readiness.close);
  return { ...readiness, tries: () => tries, told: () => lines.map(({ level, msg }) => `${level} ${msg}`) };
}

describe('A store that is made ready', () => {
  it('is, at once, and is not made ready again', async (t) => {
    const { start, ready, tries, told } = open(t, [async () => {}]);
    await start();
    await ready();
    assert.deepEqual([tries(), told()], [1, []]);
  });

  it('stops the start when it will never work', async (t) => {
    const { start } = open(t, [refused]);
    await assert.rejects(start(), { name: 'BlobsRefusedError' });
  });

  it('is waited for in the background when it does not answer, with one warning, until it does', async (t) => {
    const { start, ready, tries, told } = open(t, [...Array(6).fill(unreachable), async () => {}]);
    await start();
    await eventually(() => told().length === 2);
    await ready();
    assert.equal(tries(), 7);
    assert.deepEqual(told(), [
      '40 the bucket does not answer; documents are served, files are not until it works',
      '30 the store of files works: they are served',
    ]);
  });

  it('is given up when it turns out to be another log’s, and who asks hears it', async (t) => {
    const { start, ready, tries, told } = open(t, [unreachable, unreachable, refused]);
    await start();
    await eventually(() => told().length === 2);
    assert.deepEqual([tries(), told()[1]], [3, '50 files are not served: their store refuses']);
    await assert.rejects(ready(), { name: 'BlobsRefusedError' });
  });

  it('does not hold up the start when it says nothing', async (t) => {
    const hung = Promise.withResolvers<void>();
    const { start, ready, tries, told } = open(t, [() => hung.promise], 1);
    await start();
    const asked = ready();
    hung.resolve();
    await asked;
    await eventually(() => told().length === 2);
    assert.equal(tries(), 1);
    assert.match(told()[0] ?? '', /^40 the store of files does not answer; /);
  });
});

describe('The folder in which files are received', () => {
  it('is made and emptied', (t) => {
    const folder = join(temporaryFolder(t), 'blobs', 'incoming');
    prepareIncoming(folder);
    writeFileSync(join(folder, 'rest'), 'x');
    prepareIncoming(folder);
    assert.equal(existsSync(folder) && !existsSync(join(folder, 'rest')), true);
  });

  it('refuses in one line when it cannot be made', (t) => {
    const blobs = join(temporaryFolder(t), 'blobs');
    writeFileSync(blobs, 'a file');
    assert.throws(
      () => prepareIncoming(join(blobs, 'incoming')),
      (error: Error) =>
        error instanceof BlobsRefusedError && /^files cannot be received in .*ENOTDIR.*$/.test(error.message),
    );
  });
});
