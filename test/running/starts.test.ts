import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import { readCheckpoints } from '../../events/proof/checkpoints.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { noon, sealsIn } from '../events/logs.ts';
import { type HereService, startHere } from '../helpers/embedded.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { openDirectory, setClock } from '../projections/directory.ts';

const config: Config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };
const day = 24 * 3600 * 1000;

const signedIn = (data: string) =>
  withDatabase(join(data, 'log.db'), { readonly: true }, (db) => readCheckpoints(db).recent(1)[0]?.size ?? 0);

const warnings = (service: HereService) => service.lines().filter(({ level }) => level === 40);

describe('A start', () => {
  it('signs what a killed service has left unsigned, before it listens', async (t) => {
    const first = await startHere(t, config);
    await first.call('POST', '/api/collections/posts', { title: 'Bilby' });
    // The files of a service that runs are those that a kill would leave.
    const data = join(temporaryFolder(t), 'data');
    cpSync(first.data, data, { recursive: true });
    const left = signedIn(data);
    const second = await startHere(t, config, { data });
    assert.deepEqual([left, signedIn(data)], [0, 2]);
    assert.ok(warnings(second).some(({ msg }) => /^2 events, 1 to 2, follow the last checkpoint/.test(msg)));
  });

  it('warns of a clock that is more than 30 days ahead of the last event', async (t) => {
    let clock = noon;
    for (const [days, isTold] of [
      [20, false],
      [7305, true],
    ] as const) {
      const data = join(temporaryFolder(t), 'data');
      const then = Date.now() - days * day;
      setClock(then - clock);
      clock = then;
      openDirectory(data, config, { seals: sealsIn(data) }).close();
      const service = await startHere(t, config, { data });
      const told = warnings(service).filter(({ msg }) => msg.startsWith('the last event was recorded at '));
      assert.equal(told.length, isTold ? 1 : 0, JSON.stringify(warnings(service)));
      if (!isTold) continue;
      assert.match(
        told[0].msg,
        /, 20 years later: if the clock is wrong, stop the service .* annals clock correct --help/,
      );
    }
  });
});
