import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { run } from '../../verify/annals-verify.mjs';
import { useFolder } from '../helpers/shared.ts';
import { restated, signedAt, useArchives } from './archives.ts';
import { bundleOf, createHistory, createSigner, exportOf, origin, signNote, type Thing, writeLog } from './forger.ts';
import { bundleIn, erased, exportIn, lively, post, postNow, unpacked, verdictOf } from './histories.ts';

const folder = useFolder();
const signer = createSigner();
const pinned = ['--key', signer.verifierKey];
const archives = useArchives(folder, signer);
const log = erased(lively());
let count = 0;

function name(): string {
  count += 1;
  return `thing-${count}`;
}

/** A checkpoint of the whole log with extension lines. */
function noteWith(...lines: string[]): string {
  const [, size, root] = bundleOf(log, signer, post, postNow).checkpoint.split('\n');
  return signNote([origin, size, root, ...lines, ''].join('\n'), [signer]);
}

const bundleWith = (checkpoint: string) =>
  bundleIn(folder, name(), { ...bundleOf(log, signer, post, postNow), checkpoint });

describe('annals-verify on the time that a checkpoint says', () => {
  it('shows it as what the clock of its signer said, and needs none', async () => {
    const { exit, text } = await run([...pinned, bundleWith(noteWith(`time ${signedAt}`))]);
    assert.equal(exit, 0, text);
    assert.match(text, new RegExp(`open +whether the clock was right by which .* was signed at ${signedAt}$`, 'm'));
    const { text: json } = await run([...pinned, '--json', bundleWith(noteWith('something else', `time ${signedAt}`))]);
    assert.equal(JSON.parse(json).checkpoint.time, signedAt);
    const before = await run([...pinned, bundleWith(noteWith())]);
    assert.equal(before.exit, 0);
    assert.doesNotMatch(before.text, /the clock was right/);
  });

  it('takes a line of a time that is none, or two of them, for no checkpoint of a log', async () => {
    for (const lines of [
      ['time yesterday'],
      ['time 2026-11-31T00:00:00.000Z'],
      [`time ${signedAt}`, `time ${signedAt}`],
    ]) {
      const says = /^1 NOT SOUND: the checkpoint of the bundle has another line of its time than one$/;
      assert.match(await verdictOf(...pinned, bundleWith(noteWith(...lines))), says);
    }
  });

  it('lets no pack say another one', async () => {
    const files = await archives.bundle(log, post);
    const checkpoint = noteWith(`time ${signedAt}`);
    const changed = (change: (bundle: Thing) => void) =>
      unpacked(folder, name(), { ...restated(files, 'bundle.json', change), 'checkpoint.txt': checkpoint });
    const honest = changed((bundle) => Object.assign(bundle, { checkpoint }));
    assert.match(await verdictOf(...pinned, honest), /^0 SOUND \(\d+ events, [\d.]+ s\)$/);
    const other = signedAt.replace('2026', '2020');
    const lying = changed((bundle) => Object.assign(bundle, { checkpoint, signedAt: other }));
    const says = `1 NOT SOUND: signedAt is "${other}", the checkpoint says ${signedAt}`;
    assert.equal((await verdictOf(...pinned, lying)).replaceAll('"', ''), says.replaceAll('"', ''));
    // What names no version of its texts is asked in its page.
    const quiet = changed((bundle) => {
      Object.assign(bundle, { checkpoint });
      delete bundle.texts;
      delete bundle.signedAt;
    });
    assert.match(await verdictOf(...pinned, quiet), /^0 SOUND .*README\.txt is not compared/);
  });
});

describe('annals-verify on how old the newest proven event is', () => {
  it('says it of a bundle, with the headers of later events, of an export and of a log', async () => {
    const newest = /^newest proven event: (\S+), (.*)$/m;
    const log15 = log[14]?.header.recordedAt;
    const file = join(folder, 'log.db');
    writeLog(file, log, [noteWith()]);
    const things = [
      [bundleIn(folder, name(), bundleOf(log, signer, post, postNow)), log[12]?.header.recordedAt],
      [
        bundleIn(folder, name(), bundleOf(log, signer, post, postNow, { isComplete: true })),
        log[15]?.header.recordedAt,
      ],
      [exportIn(folder, name(), exportOf(log, signer, 2, 15)), log15],
      [file, log[15]?.header.recordedAt],
    ] as const;
    for (const [thing, time] of things) {
      const { exit, text } = await run([...pinned, thing]);
      assert.equal(exit, 0, text);
      assert.equal(newest.exec(text)?.[1], time, text);
      const { text: json } = await run([...pinned, '--json', thing]);
      assert.equal(JSON.parse(json).newest.recordedAt, time);
    }
    // Of CSV that was picked nothing is proven, and of a range without events there is none.
    for (const made of [
      exportOf(log, signer, 1, 16, { kind: 'csv', filters: { collection: 'posts' } }),
      exportOf(log, signer, 5, 4),
    ])
      assert.doesNotMatch((await run([...pinned, exportIn(folder, name(), made)])).text, newest);
  });

  it('says it in words, and that a clock is wrong where the event is of later', async () => {
    const hour = 3_600_000;
    for (const [before, words] of [
      [5000, /^[5-9] seconds before now$/],
      [61_000, /^1 minute before now$/],
      [2.5 * hour, /^2 hours before now$/],
      [75 * hour, /^3 days before now$/],
      [-75 * hour, /^3 days after now by the clock here: one of the two is wrong$/],
    ] as const) {
      const { entries, record } = createHistory();
      const recordedAt = new Date(Date.now() - before).toISOString();
      record('system/schema', 'schema.changed', { schema: { collections: [], globals: [] } }, { recordedAt });
      const { text } = await run([...pinned, exportIn(folder, name(), exportOf(entries, signer, 1, 1))]);
      assert.match(/^newest proven event: \S+, (.*)$/m.exec(text)?.[1] ?? '', words);
    }
  });
});
