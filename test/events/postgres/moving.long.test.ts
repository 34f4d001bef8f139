import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { openLog } from '../../../events/log/sqlite-log.ts';
import { openArrival } from '../../../events/postgres/arrival.ts';
import { type Companion, moveIn } from '../../../events/postgres/moving-in.ts';
import { openPostgresLog } from '../../../events/postgres/postgres-log.ts';
import { createIds } from '../../../events/store/ids.ts';
import { createLog } from '../../../events/store/log-file.ts';
import { movedTo } from '../../../events/store/moved.ts';
import { openDatabase, type Sqlite } from '../../../storage/sqlite.ts';
import { describeWithPostgres, useDatabase } from '../../helpers/postgres.ts';
import { runsOf } from '../../helpers/runs.ts';
import { temporaryFolder } from '../../helpers/service.ts';
import { type Chosen, commandBy, rowsOf, steps } from '../histories.ts';
import { noon, seals } from '../logs.ts';

class Stopped extends Error {}

const nothing = () => {};

/** A log in a file, or in memory, with ids of its own. */
function openNode(logId: string, path = ':memory:') {
  const clock = { now: noon };
  const now = () => clock.now;
  const db = openDatabase(path);
  createLog(db, logId, seals.key);
  const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), now);
  return { db, log: openLog(db, { ids, now, seals }), clock };
}

type Node = ReturnType<typeof openNode>;

/** The rows of a log that its replica has too: each seals its head itself. */
function contentOf(db: Sqlite) {
  const { head, ...rows } = rowsOf(db);
  const unsealed = (head as { mac: unknown }[]).map(({ mac: _, ...rest }) => rest);
  return { ...rows, head: unsealed };
}

describeWithPostgres('A log that moves into PostgreSQL', () => {
  const make = useDatabase();

  it('goes on if a page takes longer to read than a node may have the log', async () => {
    const { address } = await make();
    const arrival = await openArrival({ address, site: '', warn: nothing });
    await arrival.begin('annals/1');
    const change = arrival.removeIdempotencyRecords();
    // The lock is taken meanwhile, and what follows on it is not sent.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);
    await change;
    await arrival.close();
  });

  it('is the same for a node, wherever the move was stopped, and whatever was written or erased meanwhile', async (t: TestContext) => {
    const { address } = await make();
    let sites = 0;
    await fc.assert(
      fc.asyncProperty(steps, fc.array(fc.nat(3), { maxLength: 3 }), async (history, stops) => {
        sites += 1;
        const site = `site ${sites}`;
        const path = join(temporaryFolder(t), 'log.db');
        const logId = `annals/${sites}`;
        const node = openNode(logId, path);
        const write = (commands: readonly Chosen[], milliseconds: number) => {
          node.clock.now += milliseconds;
          node.log.append(commands.map((one) => commandBy(node, one)));
        };
        for (const [at, { commands, milliseconds, isRolledBack }] of history.entries()) {
          write(commands, milliseconds);
          if (isRolledBack && node.log.head().size > 0)
            await moveStopped(site, path, logId, stops[at % 3] ?? 3, () => write(commands, 1));
        }
        if (node.log.head().size === 0) return;
        const before = contentOf(node.db);
        const arrival = await openArrival({ address, site, warn: nothing });
        await arrival.begin(logId);
        await moveIn({
          file: path,
          arrival,
          companion: companion(nothing),
          progress: { copied: nothing, compared: nothing },
        });
        await arrival.close();
        assert.notEqual(movedTo(node.db), null);
        assert.deepEqual(contentOf(node.db), before);
        assert.deepEqual(contentOf((await follower(site)).db), before);
        node.db.close();
      }),
      { numRuns: runsOf(60), endOnFailure: true },
    );

    /** Begins a move, and stops it at one of its steps. */
    async function moveStopped(
      site: string,
      file: string,
      logId: string,
      step: number,
      write: () => void,
    ): Promise<void> {
      const arrival = await openArrival({ address, site, warn: nothing });
      await arrival.begin(logId);
      const stop = () => {
        throw new Stopped();
      };
      let isWritten = false;
      const copied = () => {
        // Something is written while it copies.
        if (!isWritten) write();
        isWritten = true;
        if (step === 0) stop();
      };
      const moving = moveIn({
        file,
        arrival,
        companion: companion(step === 2 ? stop : nothing, stop),
        progress: { copied, compared: step === 1 ? stop : nothing },
      });
      await assert.rejects(moving, Stopped);
      await arrival.close();
    }

    function companion(onBegin: () => void, onCopy: () => void = nothing): Companion {
      return { begin: onBegin, copy: async () => onCopy(), commit: nothing, rollBack: nothing };
    }

    async function follower(site: string): Promise<Node> {
      const shared = await openPostgresLog({ address, site, makeName: () => 'none', warn: nothing });
      const node = openNode(shared.name);
      for (;;) {
        const missing = await shared.tail(node.log.head(), 7);
        node.log.ingest(missing);
        if (missing.head) break;
      }
      await shared.close();
      return node;
    }
  });
});
