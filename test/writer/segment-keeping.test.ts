import assert from 'node:assert/strict';
import { it } from 'node:test';
import { keepSegments } from '../../server/writer/segment-keeping.ts';
import { command, openTestLog } from '../events/logs.ts';
import { eventually } from '../helpers/shared.ts';

it('a writer gives the pages back that an earlier one has left unused in its log', async (t) => {
  const { db, log } = openTestLog(t);
  const data = { set: { text: 'x'.repeat(1_000_000) } };
  log.append(
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((at) =>
      command(`posts/${at}`, 0, { events: [{ type: 'document.updated', data }] }),
    ),
  );
  db.exec('INSERT INTO erasures VALUES (1, 0, 0); DELETE FROM payloads; DELETE FROM erasures');
  const unused = () => Number(db.pragma('freelist_count', { simple: true }));
  assert.ok(unused() > 2400);
  const keeping = keepSegments(log, {
    between: (run) => run(),
    sizes: null,
    onDue: assert.fail,
    onFailure: (error) => assert.fail(String(error)),
  });
  t.after(keeping.close);
  await eventually(() => unused() === 2048);
});
