import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { roundsOf } from '../helpers/rounds.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { launch } from '../helpers/shared.ts';
import { backupsIn, objectsIn, restored, useArchivingService } from './archiving-here.ts';

const { service, segments, post, archive, erase, saved } = useArchivingService();

describe('The segments of a series of backups', () => {
  it('are whole for every backup that is there, whenever one was killed', async (t) => {
    const place = join(temporaryFolder(t), 'series');
    for (let round = 0; round < roundsOf(12, 4); round += 1) {
      const flags = ['--keep', '1h', '--every', '1s', '--data', service.data];
      const { child, exited } = launch(t, ['backup', '--to', place, ...flags]);
      const id = await post('Numbat');
      await archive();
      const erasing = round % 3 === 0 ? erase(id) : null;
      await wait(Math.random() * 3000);
      child.kill('SIGKILL');
      await exited;
      await erasing;
      for (const name of existsSync(place) ? backupsIn(place) : []) await restored(t, join(place, name));
    }
    await saved(place, '--keep', '1h');
    assert.equal(backupsIn(place).length, 1);
    await restored(t, place);
    const needed = segments().map(({ file }) => file);
    const there = objectsIn(place);
    assert.deepEqual(
      needed.filter((file) => !there.includes(file)),
      [],
    );
  });

  it('are whole for every backup of two machines, each of which removes what is superfluous', async (t) => {
    const place = join(temporaryFolder(t), 'series');
    for (let round = 0; round < roundsOf(6, 2); round += 1) {
      const id = await post('Numbat');
      await archive();
      await saved(place);
      const copy = await restored(t, place);
      await erase(id);
      const both = [service.data, copy].map((data) => {
        return launch(t, ['backup', '--to', place, '--keep', '1h', '--data', data]).exited;
      });
      assert.deepEqual(await Promise.all(both), [0, 0]);
      const there = backupsIn(place);
      assert.ok(there.length > 0);
      for (const name of there) await restored(t, join(place, name));
    }
  });
});
