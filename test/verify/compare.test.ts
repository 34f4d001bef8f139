import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { run } from '../../verify/annals-verify.mjs';
import { useFolder } from '../helpers/shared.ts';
import { answerOf, createSigner, type Entry, noteOf, origin, rewritten, type Thing, writeNote } from './forger.ts';
import { lively, verdictOf } from './histories.ts';

const folder = useFolder();
const signer = createSigner();
const stranger = createSigner();
const pinned = ['--key', signer.verifierKey];
const log = lively();
/** The log up to 6, with other entries after that. */
const forked = log.map((entry, index) => (index < 6 ? entry : rewritten(entry, { correlationId: 'forked' })));
const [six, all] = [noted('six', log, 6), noted('all', log)];

function noted(name: string, entries: readonly Entry[], size = entries.length): string {
  return writeNote(join(folder, `${name}.txt`), noteOf(entries, [signer], size));
}

function saved(name: string, answer: Thing): string {
  const path = join(folder, `${name}.json`);
  writeFileSync(path, typeof answer === 'string' ? answer : JSON.stringify(answer));
  return path;
}

const compare = (...args: string[]) => verdictOf(...pinned, 'compare', ...args);

describe('annals-verify compare', () => {
  it('takes two checkpoints of one size and one root for the same log', async () => {
    const again = noted('again', log);
    assert.match(await compare(all, again), /^0 SOUND \(16 events/);
    const { text } = await run([...pinned, 'compare', all, again]);
    assert.match(text, /^comparison of annals\/019a/);
    assert.match(text, /proven +both checkpoints are signed by the pinned key/);
    assert.match(text, /proven +all\.txt and again\.txt are of the same 16 events/);
    assert.match(await compare(all, again, saved('none', answerOf(log, 16, 16))), /^0 SOUND/);
  });

  it('finds a fork: two of one size, rightly signed, with other roots', async () => {
    const other = noted('other', forked);
    const says =
      /^1 NOT SOUND: all\.txt and other\.txt are both of 16 events, both are signed by the key, and their roots differ: proof of a fork: keep both files$/;
    assert.match(await compare(all, other), says);
    assert.match(await compare(all, other, saved('any', answerOf(log, 6, 16))), says);
    const { exit, text } = await run([...pinned, '--json', 'compare', all, other]);
    assert.equal(exit, 1);
    const { result, finding, checkpoints, proven, open, but } = JSON.parse(text);
    assert.deepEqual([result, proven, open, but], ['not sound', [], [], []]);
    assert.match(finding, /proof of a fork/);
    assert.deepEqual(
      checkpoints.map(({ file, size }: Thing) => [file, size]),
      [
        ['all.txt', 16],
        ['other.txt', 16],
      ],
    );
  });

  it('asks for a proof if the sizes differ, and follows it from the smaller one', async () => {
    const call = 'GET /api/audit/consistency?from=6&to=16';
    assert.match(
      await compare(all, six),
      new RegExp(`^2 UNDECIDED: six\\.txt is of 6 events, all\\.txt of 16: .*${call.replace('?', '\\?')}`),
    );
    for (const proof of [answerOf(log, 6, 16), JSON.stringify(answerOf(log, 6, 16), null, 2)]) {
      const { exit, text } = await run([...pinned, 'compare', all, six, saved('proof', proof)]);
      assert.equal(exit, 0, text);
      assert.match(text, /proven +all\.txt, of 16 events, continues six\.txt, of 6/);
    }
    const none = noted('none', log, 0);
    assert.match(await compare(none, all, saved('from-none', answerOf(log, 0, 16))), /^0 SOUND/);
  });

  it('finds no log to go on from what it was not, whatever proof it gives, and asks again', async () => {
    // A tree of 4 is a node of the larger one, and stands in no proof; of 6 and 7 it is made of the proof.
    for (const size of [4, 6, 7]) {
      const entries = log.slice(0, size).map((entry) => rewritten(entry, { correlationId: 'x' }));
      const other = noted(`other-${size}`, entries);
      const says = new RegExp(
        `^2 UNDECIDED: lie\\.json does not lead from other-${size}\\.txt to all\\.txt, both rightly signed\\. .*ask again: .*Keep all three files$`,
      );
      const honest = answerOf(log, size, 16);
      const { fromRoot } = answerOf(entries, size, size);
      for (const lie of [
        honest,
        { ...honest, fromRoot },
        { ...honest, fromRoot, proof: [] },
        { ...honest, fromRoot, proof: honest.proof.slice(1) },
        { ...honest, fromRoot, proof: [...honest.proof, honest.proof[0]] },
      ])
        assert.match(await compare(other, all, saved('lie', lie)), says);
    }
    // The proof that leads there claims to lead to another root.
    const other = { ...answerOf(log, 6, 16), toRoot: answerOf(forked, 6, 16).toRoot };
    assert.match(await compare(six, all, saved('other', other)), /^2 UNDECIDED: other\.json does not lead/);
  });

  it('decides nothing by what is not signed, of another log, or no answer', async () => {
    const proof = saved('good', answerOf(log, 6, 16));
    const elsewhere = createSigner('annals/elsewhere');
    const foreign = writeNote(join(folder, 'foreign.txt'), noteOf(log, [elsewhere], 6, 'annals/elsewhere'));
    const unsigned = writeNote(join(folder, 'unsigned.txt'), noteOf(log, [stranger]));
    const edited = writeNote(join(folder, 'edited.txt'), noteOf(log, [signer]).replace('\n16\n', '\n17\n'));
    const both = ['--key', elsewhere.verifierKey];
    const cases: [string[], RegExp][] = [
      [[unsigned, all], /unsigned\.txt is signed by another key/],
      [[edited, all], /edited\.txt is not what the key .* signed/],
      [[foreign, all], /foreign\.txt is signed by another key/],
      [[...both, foreign, all], /is of the log annals\/elsewhere|is of the log annals\/019a/],
      [[proof, all], /good\.json is not a signed note/],
      [[join(folder, 'nothing.txt'), all], /there is no .*nothing\.txt/],
      [[six, all, saved('refused', { statusCode: 401, error: 'Unauthorized' })], /refused\.json is no answer of GET/],
      [[six, all, saved('list', { from: 6, to: 16, fromRoot: '', toRoot: '', proof: [1] })], /is no answer of GET/],
      [[six, all, saved('text', 'no JSON')], /is no answer of GET/],
      [[six, all, join(folder, 'nothing.json')], /is no answer of GET|there is no/],
      [[six, all, saved('far', answerOf(log, 4, 16))], /far\.json is a proof from 4 to 16: ask GET .*from=6&to=16/],
      [[six], /name two checkpoints/],
      [[six, all, proof, proof], /name two checkpoints/],
      [['--trust-inside', six, all], /--trust-inside does not go with compare: a checkpoint names no key/],
      [['--checkpoint', six, six, all], /--checkpoint does not go with compare/],
      [['--proof', proof, six, all], /--proof does not go with compare: name PROOF behind the two/],
      [['--summary', join(folder, 'page'), six, all], /--summary does not go with compare/],
    ];
    for (const [args, says] of cases) {
      const { exit, text } = await run([...pinned, 'compare', ...args]);
      assert.equal(exit, 2, text);
      assert.match(text, says);
      assert.doesNotMatch(text, /it cannot be read/);
    }
    const without = await run(['compare', six, all, proof]);
    assert.equal(without.exit, 2);
    assert.match(without.text, /compare needs the key of the log: give it with --key/);
    assert.equal((await run(['--key-file', saved('key', signer.verifierKey), 'compare', six, all, proof])).exit, 0);
  });

  it('compares a checkpoint that is given as evidence with the kept ones', async () => {
    const other = noted('one-more', forked);
    const with_ = (...args: string[]) => verdictOf(...pinned, ...args);
    assert.match(await with_('--checkpoint', noted('once-more', log), all), /^0 SOUND \(16 events/);
    assert.match(
      await with_('--checkpoint', all, '--checkpoint', six, other),
      /^1 NOT SOUND: .*all\.txt and one-more\.txt are both of 16 events.*proof of a fork: keep both files$/,
    );
    for (const [kept, shown] of [
      [six, all],
      [all, six],
    ] as const) {
      assert.match(await with_('--checkpoint', kept, shown), /^2 UNDECIDED: .*from=6&to=16, and name it as --proof$/);
      const proof = saved('for-evidence', answerOf(log, 6, 16));
      assert.match(await with_('--checkpoint', kept, '--proof', proof, shown), /^0 SOUND/);
    }
    assert.match(
      await with_(all),
      /^2 UNDECIDED: all\.txt is a checkpoint: give the one that you kept with --checkpoint/,
    );
    assert.match(
      await verdictOf('--checkpoint', six, all),
      /^2 UNDECIDED: all\.txt is a checkpoint, which names no key/,
    );
    const unsigned = noted('mine', log).replace('mine', 'strange');
    writeNote(unsigned, noteOf(log, [stranger]));
    assert.match(await with_('--checkpoint', six, unsigned), /^2 UNDECIDED: strange\.txt is signed by another key/);
  });

  it('knows checkpoints by each of the keys that a log has had', async () => {
    const newer = createSigner();
    const later = writeNote(join(folder, 'later.txt'), noteOf(log, [newer]));
    const proof = saved('over', answerOf(log, 6, 16));
    const keys = [...pinned, '--key', newer.verifierKey];
    assert.match(await verdictOf(...keys, 'compare', six, later, proof), /^0 SOUND/);
    assert.equal(newer.name, origin);
  });
});
