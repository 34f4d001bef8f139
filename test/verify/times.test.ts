import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { run } from '../../verify/annals-verify.mjs';
import { useFolder } from '../helpers/shared.ts';
import { cosignature, createWitnessKey } from '../helpers/witness.ts';
import { restated, signedAt, useArchives } from './archives.ts';
import {
  bundleOf,
  consistencyOf,
  createHistory,
  createSigner,
  encoded,
  exportOf,
  leafOf,
  noteOf,
  origin,
  rewritten,
  rootOf,
  signNote,
  type Thing,
  writeLog,
  writeNote,
} from './forger.ts';
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

/** An answer of `GET /api/audit/consistency`. */
function answerOf(from: number, to: number): string {
  const hashes = log.slice(0, to).map(leafOf);
  const [fromRoot, toRoot] = encoded([rootOf(hashes.slice(0, from)), rootOf(hashes)]);
  const path = join(folder, `${name()}.json`);
  writeFileSync(path, JSON.stringify({ from, to, fromRoot, toRoot, proof: encoded(consistencyOf(from, hashes)) }));
  return path;
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

  it('takes an invalid line of a time, or two of them, for no checkpoint of a log', async () => {
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
    // A checkpoint without a version of its texts is asked in its page.
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
    // A selection in CSV proves nothing, and neither does a range without events.
    for (const made of [
      exportOf(log, signer, 1, 16, { kind: 'csv', filters: { collection: 'posts' } }),
      exportOf(log, signer, 5, 4),
    ])
      assert.doesNotMatch((await run([...pinned, exportIn(folder, name(), made)])).text, newest);
  });

  it('says it in words, and that a clock is wrong if the event is of later', async () => {
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

describe('annals-verify on witnesses', () => {
  const witness = createWitnessKey('witness.example/w1');
  const other = createWitnessKey('witness.example/w2');
  const given = [...pinned, '--witness', witness.verifierKey];
  const [early, late] = ['2026-11-20T13:00:00.000Z', '2026-11-21T13:00:00.000Z'];
  const cosigned = (note: string, time: string, key = witness) => note + cosignature(note, key, new Date(time));
  const at = (size: number, time: string) => cosigned(noteOf(log, [signer], size), time);
  const whole = () => bundleOf(log, signer, post, postNow, { earlier: [13, 15] });

  it('says by when all that is shown was there, and who saw it last', async () => {
    const stamped = [at(13, early), at(15, late)].map((checkpoint) => ({ checkpoint, tokens: [] }));
    const bundle = bundleIn(folder, name(), { ...whole(), checkpoint: cosigned(noteWith(), late, other), stamped });
    const { exit, text } = await run([...given, bundle]);
    assert.equal(exit, 0, text);
    assert.match(
      text,
      new RegExp(`proven +all that is shown was there at ${early}, for the witness .*/w1 cosigned 13 events$`, 'm'),
    );
    assert.match(text, new RegExp(`proven +the witness witness.example/w1 cosigned 15 events at ${late}$`, 'm'));
    assert.match(text, /open +what witness\.example\/w2 cosigned: its key was not given, by --witness$/m);
    assert.match(
      text,
      new RegExp(`^newest time vouched for from outside: ${late}, .* by witness.example/w1, of 15 events$`, 'm'),
    );
    const both = await run([...given, '--witness', other.verifierKey, '--json', bundle]);
    assert.deepEqual(JSON.parse(both.text).outside, { time: late, by: 'witness.example/w2', size: 16 });
    const none = await run([...given, bundleIn(folder, name(), whole())]);
    assert.match(none.text, /open +the witness witness\.example\/w1 cosigned no checkpoint that is shown$/m);
    assert.match(none.text, /^newest time vouched for from outside: none$/m);
  });

  it('knows those of an export, of a copy of log.db, of kept checkpoints and of two that are compared', async () => {
    const { manifest, text } = exportOf(log, signer, 1, 15, { earlier: [15] });
    const stamped = [{ checkpoint: at(15, late), tokens: [] }];
    const file = join(folder, 'cosigned.db');
    writeLog(file, log, [at(13, early), at(16, late)]);
    const [kept, newer] = [[13, early] as const, [16, late] as const].map(([size, time]) =>
      writeNote(join(folder, `${size}.txt`), at(size, time)),
    );
    const plain = exportIn(folder, name(), exportOf(log, signer, 1, 16));
    for (const args of [
      [exportIn(folder, name(), { manifest: { ...manifest, stamped }, text })],
      [file],
      ['--checkpoint', newer ?? '', plain],
      ['compare', kept ?? '', newer ?? '', answerOf(13, 16)],
    ]) {
      const { exit, text: said } = await run([...given, ...args]);
      assert.equal(exit, 0, said);
      assert.match(said, new RegExp(`vouched for from outside: ${late}`), args[0]);
    }
  });

  it('rejects a cosignature that does not fit, and a stamped checkpoint that is not of the log', async () => {
    const note = noteWith();
    const wrong = cosigned(note, late).replace(/(.{20})....\n$/, '$1AAA=\n');
    const elsewhere = note + cosignature(at(15, late), witness, new Date(late));
    const short = `${note}— ${witness.name} ${Buffer.concat([witness.id, Buffer.alloc(64)]).toString('base64')}\n`;
    for (const checkpoint of [wrong, elsewhere, short])
      assert.match(
        await verdictOf(...given, bundleIn(folder, name(), { ...whole(), checkpoint })),
        /^1 NOT SOUND: the checkpoint is not what the witness witness\.example\/w1 cosigned: its signature does not fit$/,
      );
    const forked = log.map((entry, index) => (index === 14 ? rewritten(entry, { correlationId: 'forked' }) : entry));
    const broken = noteOf(log, [signer], 15).replace('\n15\n', '\n14\n');
    const foreign = noteOf(log, [createSigner('annals/other')], 15, 'annals/other');
    for (const [stamped, says] of [
      [
        [{ tokens: [], checkpoint: noteOf(forked, [signer], 15) }],
        /^2 .*the proof does not lead from the stamped checkpoint of 15 events to what is shown/,
      ],
      [
        [{ tokens: [], checkpoint: at(14, late) }],
        /^2 .*nothing proves that the log continues the stamped checkpoint of 14 events/,
      ],
      [[{ tokens: [], checkpoint: broken }], /a checkpoint in stamped is not what the key \S+ signed/],
      [[{ tokens: [], checkpoint: foreign }], /is of another log, annals\/other$/],
      [[{ tokens: [], checkpoint: at(15, late), more: 1 }], /has "?more/],
      [{}, /stamped is no list/],
      [[7], /stamped holds something that is not a checkpoint/],
    ] as const)
      assert.match(await verdictOf(...given, bundleIn(folder, name(), { ...whole(), stamped })), says);
  });

  it('passes over a stamped checkpoint of a key that was not given, and says so', async () => {
    const forked = log.map((entry, index) => (index === 14 ? rewritten(entry, { correlationId: 'forked' }) : entry));
    const other = createSigner();
    const stamped = [noteOf(log, [other], 14), noteOf(forked, [other], 15)].map((note) => ({
      checkpoint: cosigned(note, late),
      tokens: [{ authority: 'tsa.example', token: 'AA==' }],
    }));
    const bundle = bundleIn(folder, name(), {
      ...whole(),
      stamped: [...stamped, { checkpoint: at(13, early), tokens: [] }],
    });
    const { exit, text } = await run([...given, bundle]);
    assert.equal(exit, 0, text);
    assert.match(
      text,
      /^ {2}open +what others say of 2 checkpoints in stamped: another key signed them, which was not given, by --key$/m,
    );
    assert.match(text, new RegExp(`vouched for from outside: ${early}`));
    assert.doesNotMatch(text, /tsa\.example/);
  });

  it('puts out tokens of time-stamp authorities for openssl, and does not count them', async () => {
    const folderOut = join(folder, 'tokens');
    const token = (authority: string, byte: number) => ({ authority, token: Buffer.of(byte).toString('base64') });
    const stamped = [
      { checkpoint: at(13, early), tokens: [token('tsa.example', 1), token('../../x y', 2)] },
      { checkpoint: at(15, late), tokens: [token('tsa.example', 3)] },
    ];
    const bundle = bundleIn(folder, name(), { ...whole(), stamped });
    const { exit, text } = await run([...pinned, bundle]);
    assert.equal(exit, 0, text);
    const says =
      /open +when the checkpoint of (\d+) events was there: .* With --tokens \. that is done by: openssl ts -verify -data (\S+) -in (\S+) -token_in -CAfile CA\.pem$/gm;
    assert.deepEqual(
      [...text.matchAll(says)].map(([, ...found]) => found),
      [
        ['13', 'annals-13.txt', 'annals-13-tsa.example.tst'],
        ['15', 'annals-15.txt', 'annals-15-tsa.example.tst'],
        ['13', 'annals-13.txt', 'annals-13-..-..-x-y.tst'],
      ],
    );
    assert.match(text, /^newest time vouched for from outside: none$/m);
    assert.equal(existsSync(folderOut), false);
    // Nothing is written of an unknown signer, or of a lie.
    assert.match(await verdictOf('--tokens', folderOut, bundle), /^2 UNDECIDED/);
    assert.equal(existsSync(folderOut), false);
    assert.match(await verdictOf(...pinned, '--tokens', folderOut, bundle), /^0 SOUND/);
    assert.deepEqual(readdirSync(folderOut).sort(), [
      'annals-13-..-..-x-y.tst',
      'annals-13-tsa.example.tst',
      'annals-13.txt',
      'annals-15-tsa.example.tst',
      'annals-15.txt',
    ]);
    assert.deepEqual([...readFileSync(join(folderOut, 'annals-15-tsa.example.tst'))], [3]);
    // The checkpoint as the log signed it, without the lines that came later.
    assert.equal(readFileSync(join(folderOut, 'annals-13.txt'), 'utf8'), noteOf(log, [signer], 13));
    const nothing = await verdictOf(...pinned, '--tokens', folderOut, bundleIn(folder, name(), whole()));
    assert.match(nothing, /^2 UNDECIDED: there are no time-stamp tokens that --tokens could write$/);
    for (const tokens of [{}, [7], [{ authority: '', token: '' }], [{ authority: 'a', token: '!' }], [{ token: '' }]])
      assert.match(
        await verdictOf(
          ...pinned,
          bundleIn(folder, name(), { ...whole(), stamped: [{ checkpoint: at(15, late), tokens }] }),
        ),
        /^1 NOT SOUND: .*token/,
      );
  });

  it('takes nothing for the key of a witness that is invalid', async () => {
    for (const key of [signer.verifierKey, 'x', witness.verifierKey.replace('w1', 'w3')]) {
      const verdict = await verdictOf(...pinned, '--witness', key, bundleIn(folder, name(), whole()));
      assert.match(verdict, /^2 UNDECIDED: .* is no verifier key of a witness/);
    }
  });
});
