import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { run } from '../../verify/annals-verify.mjs';
import { useFolder } from '../helpers/shared.ts';
import {
  createHistory,
  createSigner,
  exportOf,
  handoverOf,
  noteOf,
  type Signer,
  writeLog,
  writeNote,
} from './forger.ts';
import { exportIn, post, verdictOf } from './histories.ts';

const folder = useFolder();
const [old, now, thief] = [createSigner(), createSigner(), createSigner()];
const idOf = ({ verifierKey }: Signer) => verifierKey.split('+')[1] ?? '';
const { entries, record } = createHistory();
record('system/schema', 'schema.changed', { schema: { collections: [{ slug: 'posts', fields: [] }], globals: [] } });
record(post, 'document.created', { id: post.slice(6), title: 'One' });
record(post, 'document.updated', { set: { title: 'Two' } });

const handover = (from: Signer, to: Signer, options = {}) => handoverOf(entries, [from, to], options);
const named = (key: Signer) => ({ id: idOf(key), verifierKey: key.verifierKey });
record('system/keys', 'log.key.replaced', { from: named(old), to: named(now), handover: handover(old, now) });
record(post, 'document.updated', { set: { title: 'Three' } });
const kept = writeNote(join(folder, 'kept.txt'), noteOf(entries, [old], 2));
let count = 0;

/** An export that shows hand-overs. */
function shownWith(handovers: unknown, { by = now, size = 5, earlier = [2, 3], of = entries } = {}): string {
  count += 1;
  const { manifest, text } = exportOf(of, by, 1, size, { size, earlier });
  return exportIn(folder, `export-${count}`, { manifest: { ...manifest, handovers }, text });
}

const by = (...keys: Signer[]) => keys.flatMap(({ verifierKey }) => ['--key', verifierKey]);

describe('annals-verify with a hand-over', () => {
  it('follows it to the new key from the old one, whose checkpoints still count', async () => {
    const log = join(folder, 'log.db');
    writeLog(log, entries, [noteOf(entries, [old], 2), noteOf(entries, [now])]);
    for (const path of [shownWith([handover(old, now)]), log]) {
      for (const keys of [by(old), by(now), by(old, now)]) {
        const { exit, text } = await run([...keys, '--checkpoint', kept, path]);
        assert.equal(exit, 0, text);
        assert.match(
          text,
          new RegExp(`proven +the key ${idOf(old)} handed over to ${idOf(now)} at 3 events: both have signed it`),
        );
        assert.ok(!text.includes('ask who owns the log'), text);
      }
    }
  });

  it('follows several in any order, and none from a key that was not given', async () => {
    const third = createSigner();
    const both = [handover(now, third, { size: 4 }), handover(old, now)];
    assert.match(await verdictOf(...by(old), shownWith(both, { by: third, earlier: [3, 4] })), /^0 SOUND/);
    const strangers = [handover(thief, third)];
    const other = /^2 UNDECIDED: the export names another key than the pinned one/;
    assert.match(await verdictOf(...by(old), shownWith(strangers, { by: third })), other);
    assert.match(await verdictOf(...by(old), shownWith(undefined)), other);
    const unpinned = await run([shownWith([handover(old, now)])]);
    assert.equal(unpinned.exit, 2);
  });

  it('takes hand-overs from a file, for evidence of the old key and for compare', async () => {
    const note = writeNote(join(folder, 'handover.txt'), handover(old, now));
    const answer = join(folder, 'keys.json');
    const replaced = { by: idOf(now), handover: handover(old, now) };
    writeFileSync(
      answer,
      JSON.stringify({
        keys: [
          { ...named(old), replaced },
          { ...named(now), replaced: null },
        ],
      }),
    );
    const before = shownWith(undefined, { by: old, size: 2, earlier: [] });
    for (const file of [note, answer]) {
      const { exit, text } = await run([...by(now), '--handovers', file, before]);
      assert.equal(exit, 0, text);
      assert.match(text, /open +whether the log that \w+ handed over to \w+, of 3 events, continues what is shown/);
    }
    const [first, same] = [kept, writeNote(join(folder, 'same.txt'), noteOf(entries, [now], 3))];
    const told = await run([...by(old), '--handovers', note, 'compare', first, kept]);
    assert.match(told.text, /signed by the pinned key, or those to which hand-overs lead/);
    assert.match(await verdictOf(...by(old), '--handovers', note, 'compare', same, same), /^0 SOUND/);
    const lie = [...entries];
    lie.splice(1, 1);
    const forked = writeNote(join(folder, 'forked.txt'), noteOf(lie, [now], 3));
    assert.match(
      await verdictOf(...by(old), '--handovers', note, 'compare', forked, forked),
      /^1 .*their roots differ: proof of a fork/,
    );
    const early = writeNote(join(folder, 'early.txt'), noteOf(entries, [now], 2));
    assert.match(
      await verdictOf(...by(now), '--handovers', note, 'compare', early, same),
      /^1 .*early\.txt, of 2 events, is signed by the key \w+, which only took over at 3$/,
    );
    const bad = writeNote(join(folder, 'bad.json'), '{"keys":7}');
    assert.match(
      await verdictOf(...by(now), '--handovers', bad, before),
      /^2 UNDECIDED: the hand-overs in bad\.json cannot be read: it has no keys/,
    );
    assert.match(await verdictOf(...by(now), '--handovers', kept, before), /^2 UNDECIDED: .* does not name two keys/);
  });

  it('refuses one that lacks a signature, names other keys, or is of another log', async () => {
    const verdict = (note: unknown) => verdictOf(...by(old), shownWith(note));
    assert.match(await verdict([handover(old, thief, { signers: [thief] })]), /^2 .*is signed by another key/);
    assert.match(await verdict([handover(old, now, { signers: [old] })]), /^2 .*is signed by another key/);
    const swapped = handover(old, now).replace(now.verifierKey, thief.verifierKey);
    assert.match(await verdict([swapped]), /^1 .*its signature does not fit/);
    const moved = handover(old, now).replace('\n3\n', '\n2\n');
    assert.match(await verdict([moved]), /^1 .*its signature does not fit/);
    assert.match(await verdict([handover(old, now, { names: [old, old] })]), /^1 .*does not name two keys/);
    assert.match(await verdict([handover(old, now, { names: [old, now, thief] })]), /^1 .*does not name two keys/);
    const [away, home] = [createSigner('annals/other'), createSigner('annals/other')];
    assert.match(await verdict([handover(away, home)]), /^1 .*is of the log/);
    assert.match(await verdict('all'), /^1 .*handovers is no list/);
    assert.match(await verdict([noteOf(entries, [old])]), /^1 .*does not name two keys/);
  });

  it('refuses later signatures of the old key, earlier ones of the new key, and a second one', async () => {
    const late = shownWith([handover(old, now)], { by: old });
    assert.match(
      await verdictOf(...by(old), late),
      /^1 .*of 5 events, is signed by the key \w+, which had handed over at 3$/,
    );
    const early = shownWith([handover(old, now, { size: 5 })], { size: 2, earlier: [] });
    assert.match(
      await verdictOf(...by(old), early),
      /^1 .*of 2 events, is signed by the key \w+, which only took over at 5$/,
    );
    const twice = shownWith([handover(old, now), handover(old, thief, { size: 2 })]);
    assert.match(await verdictOf(...by(old), twice), /^1 .*handed over twice, at 3 and at 2: it signed two pasts$/);
  });

  it('refuses a log that is not the one that was handed over, or does not prove it', async () => {
    const unproven = shownWith([handover(old, now)], { earlier: [2] });
    // The whole export has the events themselves.
    assert.match(await verdictOf(...by(old), unproven), /^0 SOUND/);
    const other = createHistory();
    other.record('system/schema', 'schema.changed', { schema: { collections: [], globals: [] } });
    for (const title of ['1', '2', '3', '4']) other.record(`posts/${title}`, 'document.created', { id: title, title });
    const foreign = shownWith([handover(old, now)], { of: other.entries });
    assert.match(
      await verdictOf(...by(old), foreign),
      /^1 .*another log than that of the hand-over of the key \w+ to \w+/,
    );
    count += 1;
    const range = exportOf(entries, now, 5, 5, { earlier: [2] });
    const partly = { manifest: { ...range.manifest, handovers: [handover(old, now)] }, text: range.text };
    const path = exportIn(folder, `export-${count}`, partly);
    assert.match(
      await verdictOf(...by(old), path),
      /^2 UNDECIDED: nothing proves that the log continues the hand-over .* since=3, or/,
    );
  });
});
