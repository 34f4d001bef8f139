import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openDatabase, type Sqlite } from '../../../storage/sqlite.ts';
import { type HereService, startHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { apiKey, temporaryFolder } from '../../helpers/service.ts';
import { eventually } from '../../helpers/shared.ts';

const config = {
  audit: () => true,
  collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' as const }] }],
};
const posts = '/api/collections/posts';

/** Writes into `log.db` as an attacker with access to the file, without its triggers. */
function within(data: string, run: (db: Sqlite) => void): void {
  const db = openDatabase(join(data, 'log.db'));
  const triggers = db.prepare<[], { name: string; sql: string }>(
    "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'",
  );
  const all = triggers.all();
  db.pragma('foreign_keys = OFF');
  db.transaction(() => {
    for (const { name } of all) db.exec(`DROP TRIGGER ${name}`);
    run(db);
    for (const { sql } of all) db.exec(sql);
  })();
  db.close();
}

function alteredOf(service: HereService) {
  return eventually(async () => (await service.call('GET', '/api/audit/log')).body.altered);
}

describe('A log that is known to be altered', () => {
  it('is not signed, after a restart too, but is served and written, until "annals verify" finds it sound', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const running = await startHere(t, config, { data, verifyPercent: 100 });
    for (const title of ['One', 'Two']) await running.call('POST', posts, { title });
    const change = (from: string, to: string) =>
      within(data, (db) => {
        db.prepare('UPDATE payloads SET body = replace(body, ?, ?) WHERE position = 2').run(from, to);
      });
    const signed = (service: HereService) =>
      fetch(`${service.url}/api/audit/checkpoint`, { headers: { 'x-api-key': apiKey } });
    assert.equal((await signed(running)).status, 200);
    change('One', 'Oxe');
    const altered = await alteredOf(running);
    assert.match(altered.finding, /^event 2 \(posts\/.*\): its payload is not the one committed to$/);
    assert.deepEqual([altered.part, altered.from, altered.to], ['log', 2, 2]);
    await running.stop();

    const later = await startHere(t, config, { data, verifyPercent: 0 });
    assert.deepEqual((await alteredOf(later)).finding, altered.finding);
    const [line] = later.lines().filter(({ level }) => level === 60);
    assert.match(
      line.msg,
      /^the log is known to be altered, by what was found at \S+: event 2 .*; no checkpoint is signed until "annals verify"/,
    );
    assert.equal((await later.call('POST', posts, { title: 'Three' })).status, 201);
    assert.equal((await later.call('GET', '/ready')).status, 200);
    const refused = await signed(later);
    assert.equal(refused.status, 503);
    assert.match(
      (await refused.json()).message,
      /^the log is known to be altered: event 2 .* until "annals verify" finds it sound$/,
    );
    const doctor = await runHere(['doctor', '--data', data]);
    assert.match(
      doctor.stdout,
      /^trouble +checkpoints +none is signed, for the log was found to be altered, at \S+: event 2 /m,
    );
    const unsound = await runHere(['verify', '--data', data]);
    assert.equal(unsound.code, 1);
    assert.equal((await signed(later)).status, 503);

    change('Oxe', 'One');
    const { code, stdout } = await runHere(['verify', '--data', data]);
    assert.equal(code, 0);
    assert.match(stdout, /^note: the log, or what follows from it, was known to be altered: it is sound now/m);
    assert.equal((await later.call('GET', '/api/audit/log')).body.altered, undefined);
    assert.equal((await signed(later)).status, 200);
    await later.stop();
    const last = await startHere(t, config, { data, verifyPercent: 0 });
    assert.equal((await last.call('GET', '/api/audit/log')).body.altered, undefined);
  });

  it('is handed over to no other key, and its key may be replaced', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    await (await startHere(t, config, { data, verifyPercent: 0 })).stop();
    const note = { finding: 'event 1 is not it', from: 1, to: 1, at: new Date().toISOString(), part: 'log' };
    writeFileSync(join(data, 'altered.json'), JSON.stringify(note));
    const change = (way: string) => runHere(['signing-key', way, '--reason', 'test', '--data', data]);
    const rotated = await change('rotate');
    assert.notEqual(rotated.code, 0);
    assert.match(rotated.stderr, /the log is known to be altered: event 1 is not it/);
    const replaced = await change('replace');
    assert.equal(replaced.code, 0, replaced.stderr);
  });

  it('is not opened if an event is missing in the middle of it', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const service = await startHere(t, config, { data, verifyPercent: 0 });
    // More than a tile: the start reads the newest events.
    const docs = Array.from({ length: 300 }, (_, n) => ({ title: `post ${n}` }));
    await service.call('POST', `${posts}/bulk`, { docs });
    await service.stop();
    within(data, (db) => {
      db.exec('DELETE FROM payloads WHERE position = 3; DELETE FROM events WHERE position = 3');
      // Another row in its place does not help.
      db.exec("INSERT INTO events (position, id, stream, version, whole) VALUES (-1, 'x', 'posts/x', 1, '{}')");
    });
    await assert.rejects(startHere(t, config, { data }), /event 3 of the log is missing; run "annals verify"/);
  });
});
