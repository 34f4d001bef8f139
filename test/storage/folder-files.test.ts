import assert from 'node:assert/strict';
import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { sendChecked } from '../../cli/backup/segment-objects.ts';
import { openFolderFiles } from '../../storage/folder-files.ts';
import { temporaryFolder } from '../helpers/service.ts';

describe('The files of a folder', () => {
  it('are put there whole by two processes that put the same one at a time', async (t) => {
    const folder = temporaryFolder(t);
    const [one, other] = [openFolderFiles(folder), openFolderFiles(folder)];
    for (let round = 0; round < 20; round += 1) {
      const texts = ['a', 'b'].map((letter) => letter.repeat(100_000));
      await Promise.all([one.put('list.json', texts[0] ?? ''), other.put('list.json', texts[1] ?? '')]);
      assert.ok(texts.includes(readFileSync(join(folder, 'list.json'), 'utf8')));
    }
    assert.deepEqual(readdirSync(folder), ['list.json']);
  });

  it('lose the parts that a killed process left a day ago, and no other', async (t) => {
    const folder = temporaryFolder(t);
    const parts = ['.old.json.1.partial', '.new.json.2.partial'];
    for (const name of parts) writeFileSync(join(folder, name), 'x');
    const long = new Date(Date.now() - 25 * 3_600_000);
    utimesSync(join(folder, '.old.json.1.partial'), long, long);
    await openFolderFiles(folder).put('list.json', '{}');
    assert.deepEqual(readdirSync(folder).sort(), ['.new.json.2.partial', 'list.json']);
  });

  it('leave no part if one cannot be put there', async (t) => {
    const folder = temporaryFolder(t);
    await assert.rejects(openFolderFiles(folder).send('list.json', join(folder, 'missing')), { code: 'ENOENT' });
    assert.deepEqual(readdirSync(folder), []);
  });

  it('are read back after they were sent, if only another process of the series may have removed them', async (t) => {
    const place = openFolderFiles(temporaryFolder(t));
    const losing = { ...place, send: async () => {} };
    const sent = { path: '', sha256: '' };
    await assert.rejects(sendChecked(losing, 'one', sent), /does not give back what was sent/);
    const isMissed = sendChecked(losing, 'one', { ...sent, mayBeGone: async () => false });
    await assert.rejects(isMissed, /does not give back what was sent/);
    await sendChecked(losing, 'one', { ...sent, mayBeGone: async () => true });
    await place.put('one', 'altered');
    const isAltered = sendChecked(losing, 'one', { ...sent, mayBeGone: async () => true });
    await assert.rejects(isAltered, /does not give back what was sent/);
  });
});
