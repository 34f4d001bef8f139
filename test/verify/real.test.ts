import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { run } from '../../verify/annals-verify.mjs';
import { useServiceHere } from '../helpers/embedded.ts';
import { apiKey } from '../helpers/service.ts';
import { useFolder } from '../helpers/shared.ts';
import { verdictOf } from './histories.ts';

const folder = useFolder();
const service = useServiceHere({
  bcryptCost: 4,
  collections: [
    { slug: 'posts', fields: [{ name: 'title', type: 'text', unique: true }] },
    { slug: 'media', upload: true, fields: [] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'name', type: 'text' }] }],
});
const kept = join(folder, 'kept.txt');
const copy = join(folder, 'log.db');
const pinned: string[] = [];

async function note(): Promise<string> {
  return (await fetch(`${service.url}/api/audit/checkpoint`, { headers: { 'x-api-key': apiKey } })).text();
}

before(async () => {
  const { body } = await service.call('POST', '/api/collections/posts', { title: 'Grüße 🌍 \u2028 "quoted" \\ 1e21' });
  writeFileSync(kept, await note());
  await service.call('PATCH', `/api/collections/posts/${body.id}`, { title: 'Second' });
  await service.call('PATCH', '/api/globals/site', { name: 'Annals' });
  await service.call('DELETE', `/api/collections/posts/${body.id}`);
  const form = new FormData();
  form.append('file', new Blob(['the bytes of a file']), 'a.txt');
  const uploaded = await fetch(`${service.url}/api/collections/media`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey },
    body: form,
  });
  assert.equal(uploaded.status, 201);
  await note();
  const log = await service.call('GET', '/api/audit/log');
  pinned.push('--key', log.body.verifierKey ?? log.body.publicKey, '--checkpoint', kept);
  const db = new Database(join(service.data, 'log.db'), { readonly: true });
  db.prepare('VACUUM INTO ?').run(copy);
  db.close();
});

describe('annals-verify on what a service has written', () => {
  it('finds a copy of its log sound, uploaded files and all', async () => {
    const { exit, text } = await run([...pinned, '--files', join(service.data, 'blobs'), copy]);
    assert.equal(exit, 0, text);
    assert.match(text, /1 file is, byte for byte, the one that the events name/);
    assert.match(text, /checkpoints signed by the pinned key/);
  });

  it('follows from one of its checkpoints to another by what it answers', async () => {
    const [file, proof] = [join(folder, 'newest.txt'), join(folder, 'proof.json')];
    writeFileSync(file, await note());
    const [from, to] = [kept, file].map((path) => readFileSync(path, 'utf8').split('\n')[1]);
    const path = `/api/audit/consistency?from=${from}&to=${to}`;
    assert.match(await verdictOf(...pinned.slice(0, 2), 'compare', file, kept), /^2 .*GET \/api\/audit\/consistency/);
    writeFileSync(proof, JSON.stringify((await service.call('GET', path)).body));
    assert.match(await verdictOf(...pinned.slice(0, 2), 'compare', file, kept, proof), /^0 SOUND/);
  });

  it('reads the log while the service writes it', async () => {
    assert.match(await verdictOf(...pinned, join(service.data, 'log.db')), /^0 SOUND/);
  });

  it('finds one changed byte of a payload, of a header, and of a file', async () => {
    for (const [what, says] of [
      [
        "UPDATE payloads SET body = replace(body, 'Second', 'Secund')",
        /^1 NOT SOUND: event 3 .*its payload is not the one/,
      ],
      [
        "UPDATE events SET type = replace(type, 'document.deleted', 'document.updated')",
        /^1 NOT SOUND: this is another log/,
      ],
    ] as const) {
      const altered = join(folder, 'altered.db');
      copyFileSync(copy, altered);
      const db = new Database(altered);
      db.exec(`DROP TRIGGER payloads_update; DROP TRIGGER events_update; ${what}`);
      db.close();
      assert.match(await verdictOf(...pinned, altered), says);
    }
    const blobs = join(service.data, 'blobs');
    const shard = readdirSync(blobs).find((name) => /^[0-9a-f]{2}$/.test(name)) ?? '';
    const file = join(blobs, shard, readdirSync(join(blobs, shard))[0] ?? '');
    writeFileSync(file, readFileSync(file, 'utf8').replace('bytes', 'bites'));
    assert.match(
      await verdictOf(...pinned, '--files', blobs, copy),
      /^1 NOT SOUND: the file \w+ of event \d+ .*was altered/,
    );
  });
});
