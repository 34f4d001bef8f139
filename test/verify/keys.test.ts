import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { run } from '../../verify/annals-verify.mjs';
import { useFolder } from '../helpers/shared.ts';
import { createHistory, createSigner, exportOf, noteOf, writeLog, writeNote } from './forger.ts';
import { exportIn, post, verdictOf } from './histories.ts';

const folder = useFolder();
const [old, now] = [createSigner(), createSigner()];
const named = ({ verifierKey }: typeof old) => ({ id: verifierKey.split('+')[1] ?? '', verifierKey });
const { entries, record } = createHistory();
record('system/schema', 'schema.changed', { schema: { collections: [{ slug: 'posts', fields: [] }], globals: [] } });
record(post, 'document.created', { id: post.slice(6), title: 'One' });
record('system/keys', 'log.key.disowned', { key: named(old), signed: 9 });
record('system/keys', 'log.key.replaced', { from: named(old), to: named(now) });
record(post, 'document.updated', { set: { title: 'Two' } });
const kept = writeNote(join(folder, 'kept.txt'), noteOf(entries, [old], 2));
const exported = exportIn(folder, 'export', exportOf(entries, now, 1, 5, { earlier: [2] }));
const both = ['--key', old.verifierKey, '--key', now.verifierKey, '--checkpoint', kept];

describe('annals-verify on a log whose key was replaced', () => {
  it('takes both keys, leads from a checkpoint of the old one to the new, and says by which event', async () => {
    const log = join(folder, 'log.db');
    writeLog(log, entries, [noteOf(entries, [old], 2), noteOf(entries, [now])]);
    for (const path of [exported, log]) {
      const { exit, text } = await run([...both, path]);
      assert.equal(exit, 0, text);
      const [from, to] = [named(old).id, named(now).id];
      assert.match(text, new RegExp(`open +whether the key ${from} was replaced by ${to}, as event 4 says`));
      assert.match(text, new RegExp(`open +what the key ${from} signed: event 3 disowns it`));
    }
  });

  it('believes no event that names a key: who pins the old one is shown another', async () => {
    assert.match(
      await verdictOf('--key', old.verifierKey, '--checkpoint', kept, exported),
      /^2 UNDECIDED: .* names another key than the pinned one: .*; a log may have had several/,
    );
  });
});
