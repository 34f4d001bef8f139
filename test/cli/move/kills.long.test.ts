import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { movedTo } from '../../../events/store/moved.ts';
import { withDatabase } from '../../../storage/sqlite.ts';
import { describeWithPostgres, type TestDatabase, useDatabase } from '../../helpers/postgres.ts';
import { spreadOf, wholeOnly } from '../../helpers/rounds.ts';
import { runCommand, startService, temporaryFolder } from '../../helpers/service.ts';
import { config, secret, startNode, urlOf } from '../../running/nodes/node.ts';
import { killedAt } from './killing.ts';
import { move, moveBack, rowsOf } from './moving.ts';

const posts = '/api/collections/posts';
const timeout = 30 * 60_000;

describeWithPostgres('annals log move that is killed', () => {
  const make = useDatabase();

  /** A data directory with some events, an erasure among them. */
  async function directory(t: TestContext): Promise<string> {
    const service = await startService(t, config, { environment: { ANNALS_SECRET: secret } });
    const ids: string[] = [];
    for (const slug of ['one', 'two', 'three']) {
      const { body } = await service.call(
        'POST',
        posts,
        { title: slug, slug },
        { headers: { 'idempotency-key': slug } },
      );
      ids.push(body.id);
    }
    await service.call('PATCH', `${posts}/${ids[0]}`, { slug: 'first' });
    await service.call('POST', '/api/audit/erasures', { collection: 'posts', id: ids[1], reason: 'asked to' });
    await service.stop();
    return service.data;
  }

  type Asked = { args: string[]; environment: Record<string, string> };

  /** The steps of a move. */
  async function stepsOf(
    t: TestContext,
    whole: string,
    ask: (data: string) => Promise<Asked>,
  ): Promise<readonly number[]> {
    const data = join(temporaryFolder(t), 'data');
    cpSync(whole, data, { recursive: true });
    const { args, environment } = await ask(data);
    const { stderr } = await runCommand(['log', 'move', ...args], { environment: { ...environment, ...killedAt(0) } });
    const count = Number(/^(\d+) steps$/m.exec(stderr)?.[1] ?? assert.fail(stderr));
    assert.ok(count >= 10, `only ${count} steps`);
    return spreadOf(
      Array.from({ length: count }, (_, at) => at + 1),
      4,
    );
  }

  /** Where the log is: in its file, in PostgreSQL, or for a moment in neither, and never in both. */
  async function placesOf(data: string, { sql }: TestDatabase) {
    const [there] = await sql("SELECT to_regclass('annals.heads') IS NOT NULL AS is_there");
    const [heads] = there?.rows[0]?.is_there ? await sql('SELECT state FROM annals.heads') : [];
    const isMoved = withDatabase(join(data, 'log.db'), { readonly: true }, movedTo) !== null;
    return { isHere: !isMoved, isThere: heads?.rows[0]?.state === 'here' };
  }

  it('leaves the log in one place, at whatever step, and goes on from there', { timeout }, async (t) => {
    const whole = await directory(t);
    const before = rowsOf(whole);
    const seen = new Set<string>();
    const all = await stepsOf(t, whole, async (data) => ({
      args: ['--to', urlOf((await make()).address), '--data', data],
      environment: {},
    }));
    for (const step of all) {
      const data = join(temporaryFolder(t), 'data');
      cpSync(whole, data, { recursive: true });
      const database = await make();
      const to = urlOf(database.address);
      const killed = await runCommand(['log', 'move', '--to', to, '--data', data], { environment: killedAt(step) });
      assert.equal(killed.code, null, killed.stderr);
      const { isHere, isThere } = await placesOf(data, database);
      assert.ok(!(isHere && isThere), `in both places after step ${step}`);
      seen.add(`${isHere} ${isThere}`);
      const moved = await move(data, database);
      assert.equal(moved.code, 0, `after step ${step}: ${moved.stderr}`);
      assert.deepEqual(await placesOf(data, database), { isHere: false, isThere: true });
      if (step % 10 !== 0 && step !== all.at(-1)) continue;
      const node = await startNode(t, database.address);
      assert.deepEqual(rowsOf(node.data), before);
      await node.stop();
    }
    if (wholeOnly.skip === undefined) assert.deepEqual([...seen].sort(), ['false false', 'false true', 'true false']);
  });

  it('leaves it in one place on the way back', { timeout }, async (t) => {
    const whole = await directory(t);
    const all = await stepsOf(t, whole, async (data) => {
      const database = await make();
      assert.equal((await move(data, database)).code, 0);
      return {
        args: ['--to', 'sqlite', '--data', data],
        environment: { ANNALS_POSTGRES_URL: urlOf(database.address) },
      };
    });
    for (const step of all) {
      const data = join(temporaryFolder(t), 'data');
      cpSync(whole, data, { recursive: true });
      const database = await make();
      assert.equal((await move(data, database)).code, 0);
      const before = rowsOf(data);
      const environment = { ANNALS_POSTGRES_URL: urlOf(database.address), ...killedAt(step) };
      const killed = await runCommand(['log', 'move', '--to', 'sqlite', '--data', data], { environment });
      assert.equal(killed.code, null, killed.stderr);
      const back = await moveBack(data, database);
      assert.equal(back.code, 0, `after step ${step}: ${back.stderr}`);
      assert.deepEqual(rowsOf(data), before);
      const verified = await runCommand(['verify', '--data', data]);
      assert.equal(verified.code, 0, verified.stdout);
    }
  });
});
