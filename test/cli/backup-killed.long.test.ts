import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { eventually, launch } from '../helpers/shared.ts';
import { busyConfig, killAndRestore, writeFromFour } from './backup-kills.ts';

const service = useServiceHere(busyConfig);

describe('annals backup beside four writers', () => {
  it('saves one moment, which annals verify finds sound', async (t) => {
    const stop = writeFromFour(service);
    const file = join(temporaryFolder(t), 'b.annals');
    const made = await runHere(['backup', '--out', file, '--data', service.data]);
    await stop();
    assert.equal(made.code, 0, made.stdout + made.stderr);
    const verified = await runHere(['verify', file]);
    // Nothing need be signed yet.
    assert.match(verified.stdout, /\nsound: the backup is whole /);
  });

  it('killed while it follows the log, has a prefix of it with all its files', async (t) => {
    const files = await killAndRestore(t, service, 2600);
    assert.ok(files >= 2, 'no round was made');
  });

  it('goes on after a failure, tells of it, and ends with a signal', async (t) => {
    const place = temporaryFolder(t);
    const args = ['backup', '--to', join(place, 'erasures.json', 'no'), '--every', '1s', '--data', service.data];
    // A file in place of the folder.
    writeFileSync(join(place, 'erasures.json'), '');
    const { child, exited, output } = launch(t, args);
    await eventually(() => output().stderr.split('warning: no backup was made: ').length > 2);
    child.kill('SIGTERM');
    assert.equal(await exited, 0);
    assert.deepEqual(readdirSync(place), ['erasures.json']);
    assert.deepEqual(
      readdirSync(join(service.data, 'backup')).filter((name) => !name.startsWith('lock.')),
      [],
    );
  });
});
