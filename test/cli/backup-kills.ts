import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { HereService } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { eventually, launch, recordedEvents } from '../helpers/shared.ts';

/** The configuration of a service that backups are made of while it is written to. */
export const busyConfig = {
  collections: [
    { slug: 'notes', fields: [{ name: 'text', type: 'text' as const, unique: true }] },
    { slug: 'media', upload: true as const, fields: [] },
  ],
};

/**
 * Writes to a service from four clients at once until it is told to stop. @returns how to stop, with all that was
 * acknowledged.
 */
export function writeFromFour(service: Pick<HereService, 'call'>): () => Promise<string[]> {
  const acknowledged: string[] = [];
  let isOver = false;
  const clients = [0, 1, 2, 3].map(async (client) => {
    for (let count = 0; !isOver; count += 1) {
      const text = `note ${client} ${count} ${Math.random()}`;
      const answer =
        count % 5 === 4 ? await upload(service, text) : await service.call('POST', '/api/collections/notes', { text });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      acknowledged.push(answer.body.id);
      await wait(5);
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(clients);
    return acknowledged;
  };
}

function upload({ call }: Pick<HereService, 'call'>, text: string) {
  const body = `--b\r\ncontent-disposition: form-data; name=file; filename=f.txt\r\n\r\n${text}\r\n--b--\r\n`;
  const headers = { 'content-type': 'multipart/form-data; boundary=b' };
  return call('POST', '/api/collections/media', body, { headers });
}

/**
 * Kills a continuous backup at a moment under load, and checks that what is restored is a prefix of the log, with all
 * its files.
 */
export async function killAndRestore(t: TestContext, service: HereService, milliseconds: number): Promise<number> {
  const place = join(temporaryFolder(t), 'series');
  const stop = writeFromFour(service);
  const { child, exited } = launch(t, ['backup', '--to', place, '--follow', '--every', '1s', '--data', service.data]);
  const backups = () => {
    try {
      return readdirSync(place).filter((name) => /^[^.].*\.annals$/.test(name));
    } catch {
      return [];
    }
  };
  await eventually(() => backups().length > 0);
  await wait(milliseconds);
  child.kill('SIGKILL');
  await exited;
  await stop();
  const data = join(temporaryFolder(t), 'data');
  const restored = await runHere(['restore', place, '--data', data]);
  assert.equal(restored.code, 0, restored.stdout + restored.stderr);
  const events = recordedEvents(data);
  assert.deepEqual(events, recordedEvents(service.data).slice(0, events.length));
  const verified = await runHere(['verify', '--data', data]);
  assert.match(verified.stdout, /\nsound: /);
  const files = await runHere(['blobs', 'verify', '--data', data]);
  assert.equal(files.code, 0, files.stdout);
  return backups().length;
}
