import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { sendChecked } from '../../cli/backup/segment-objects.ts';
import { openFolderFiles } from '../../storage/folder-files.ts';
import { useFolder } from '../helpers/shared.ts';

const folder = useFolder();
const path = join(folder, 'archive');
const sha256 = hash('sha256', 'the bytes of a backup');

/** A folder that keeps other bytes than it was given; with null none at all. */
function openFaulty(kept: string | null) {
  const place = openFolderFiles(join(folder, 'place'));
  const other = join(folder, 'other');
  return {
    ...place,
    async send(name: string) {
      if (kept === null) return;
      writeFileSync(other, kept);
      await place.send(name, other);
    },
  };
}

describe('A file that is sent to the place of backups', () => {
  it('is read back, and is not left there if it is not what was sent', async () => {
    writeFileSync(path, 'the bytes of a backup');
    const sound = openFaulty('the bytes of a backup');
    await sendChecked(sound, 'a', { path, sha256 });
    for (const kept of ['the bytes of a backuq', 'the bytes of a', '', null]) {
      const faulty = openFaulty(kept);
      await assert.rejects(
        sendChecked(faulty, 'b', { path, sha256 }),
        /place does not give back what was sent to it as b$/,
      );
    }
    assert.deepEqual(await sound.list(), ['a']);
  });

  it('may be gone if another process may have removed it', async () => {
    const gone = openFaulty(null);
    await sendChecked(gone, 'c', { path, sha256, mayBeGone: async () => true });
    await assert.rejects(sendChecked(gone, 'c', { path, sha256, mayBeGone: async () => false }), /does not give back/);
  });
});
