import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, type TestContext } from 'node:test';
import { usualSizes } from '../../events/segments/segment-writer.ts';
import { segmentsOf } from '../../events/segments/segments.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { eventually, recordedEvents } from '../helpers/shared.ts';
import { findingIn } from '../projections/directory.ts';

/** A service that makes a segment of every 20 events. Until the tests of the file have ended, all of the process do. */
export function useArchivingService() {
  const usual = { ...usualSizes };
  before(() => Object.assign(usualSizes, { events: 20, hot: 5 }));
  after(() => Object.assign(usualSizes, usual));
  const service = useServiceHere({ collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] });
  const segments = () => segmentsOfLog(service.data);
  const inLog = (sql: string) =>
    withDatabase(join(service.data, 'log.db'), { readonly: true }, (db) => db.prepare(sql).pluck().get());

  async function post(title: string): Promise<string> {
    const { status, body } = await service.call('POST', '/api/collections/posts', { title });
    assert.equal(status, 201);
    return body.id;
  }

  /** Writes until there is a further segment, and its payloads have left `log.db`. */
  async function archive(): Promise<void> {
    const [{ length }, last] = [segments(), segments().at(-1)?.last ?? 0];
    for (let at = 0; Number(inLog('SELECT size FROM head')) < last + 25; at += 1) await post(`Bilby-${length}-${at}`);
    await eventually(
      () => segments().length > length && Number(inLog('SELECT min(position) FROM payloads')) > last + 20,
    );
  }

  /** Erases a document, and waits until no file of the service has it. */
  async function erase(id: string): Promise<void> {
    const answer = await service.call('POST', '/api/audit/erasures', { collection: 'posts', id, reason: 'asked to' });
    assert.ok([201, 202].includes(answer.status), JSON.stringify(answer.body));
    await eventually(() => inLog('SELECT min(done) FROM erasures') === 1);
  }

  async function saved(place: string, ...flags: string[]): Promise<string> {
    const { code, stdout, stderr } = await runHere(['backup', '--to', place, '--data', service.data, ...flags]);
    assert.equal(code, 0, stdout + stderr);
    return stdout;
  }

  before(async () => {
    await post('first');
    await archive();
    await archive();
  });
  return { service, segments, post, archive, erase, saved };
}

function segmentsOfLog(folder: string) {
  return withDatabase(join(folder, 'log.db'), { readonly: true }, segmentsOf);
}

/** Restores a backup, and verifies what that gives. */
export async function restored(t: TestContext, place: string, ...flags: string[]): Promise<string> {
  const folder = join(temporaryFolder(t), 'data');
  const { code, stdout, stderr } = await runHere(['restore', place, '--data', folder, ...flags]);
  assert.equal(code, 0, stdout + stderr);
  assert.ok(recordedEvents(folder).length > 40);
  assert.ok(segmentsOfLog(folder).length >= 2);
  assert.equal(findingIn(folder), null);
  return folder;
}

/** The files of segments beside the backups of a series. */
export function objectsIn(place: string): string[] {
  return readdirSync(join(place, 'segments')).filter((name) => /^\d.*(\.seg|\.age)$/.test(name));
}

export function backupsIn(place: string): string[] {
  return readdirSync(place).filter((name) => /^\d.*\.annals(\.age)?$/.test(name));
}
