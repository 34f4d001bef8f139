import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { openVault } from '../../../events/vault/vault.ts';
import { portOf } from '../../../events/vault/vault-port.ts';
import { openAlteredNote } from '../../../server/audit/notary/altered-note.ts';
import { openVerifying } from '../../../server/audit/notary/verifying.ts';
import { createLog } from '../../../server/platform/logging.ts';
import { command, noon, openTestLog, seals } from '../../events/logs.ts';
import { temporaryFolder } from '../../helpers/service.ts';
import { eventually } from '../../helpers/shared.ts';

it('A log that is gone through was found sound at the time that is believed', async (t) => {
  const { log, path } = openTestLog(t);
  log.append([command('posts/1', 0)]);
  const vault = openVault(join(temporaryFolder(t), 'vault.db'));
  const verifying = openVerifying({
    file: path,
    logId: 'annals/test',
    keys: portOf(vault).logKeys,
    sealKey: seals.key,
    percent: 100,
    size: 1,
    note: openAlteredNote(temporaryFolder(t)),
    log: createLog('info', { write: () => {} }),
    now: () => noon + 5,
  });
  await eventually(() => verifying.verification().verified);
  assert.deepEqual(verifying.verification(), {
    verified: { to: 1, at: new Date(noon + 5).toISOString() },
    altered: null,
  });
  await verifying.close();
  vault.close();
});
