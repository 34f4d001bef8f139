import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import { commitmentOf, encodeHeader, encodePayload, type Header } from '../../../events/facts/envelope.ts';
import { openHeaderRows } from '../../../events/log/header-rows.ts';
import { appendLeaf, leafHash, rootOf, type Tree } from '../../../events/proof/merkle.ts';
import { macOf, sealKeyOf } from '../../../events/proof/seals.ts';
import { run } from '../../../verify/annals-verify.mjs';
import { startHere, useServiceHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { assertRecorded } from '../../helpers/recorded.ts';
import { temporaryFolder, writeConfig } from '../../helpers/service.ts';
import { askUntil } from '../../helpers/shared.ts';

const config = {
  collections: [
    { slug: 'staff', auth: true, fields: [] },
    { slug: 'posts', fields: [{ name: 'title', type: 'text' as const }] },
  ],
};
const posts = '/api/collections/posts';

/** A value of `head.mac` from somebody without the key. */
const macs: Record<string, (head: Parameters<typeof macOf>[1]) => Buffer | null> = {
  'the one that was there': () => null,
  'one under a key of their own': (head) => macOf(sealKeyOf(randomBytes(32).toString('base64url')), head),
  'nothing but zeros': () => Buffer.alloc(32),
};

/**
 * Appends an event to a log as one does who knows all about it but the key of the vault: a right header, payload and
 * commitment, the head of the tree with it.
 */
function forge(data: string, stream: string, macFor: (head: Parameters<typeof macOf>[1]) => Buffer | null): number {
  const db = new Database(join(data, 'log.db'));
  const headers = db.prepare('SELECT header FROM headers ORDER BY position').pluck().all() as string[];
  const position = headers.length + 1;
  const newest = JSON.parse(headers.at(-1) ?? '') as Header;
  const version = db.prepare('SELECT max(version) + 1 FROM events WHERE stream = ?').pluck().get(stream) as number;
  const body = encodePayload({ set: { title: 'Never said', updatedAt: newest.recordedAt } }, {});
  const id = newest.id.replace(/^.{8}/, (begin) => (Number.parseInt(begin, 16) + 1).toString(16).padStart(8, '0'));
  const header = encodeHeader({
    ...newest,
    ...{ position, id, stream, version, type: 'document.updated', correlationId: id, payload: commitmentOf(body) },
    actor: { type: 'user', id: 'staff/01a2069e-c2cf-7000-a1b0-dd675f9a6718' },
  });
  const tree: Tree = { size: 0, nodes: [] };
  for (const text of [...headers, header]) appendLeaf(tree, leafHash(text), () => {});
  const head = { log: newest.log, size: position, root: rootOf(tree), recordedAt: newest.recordedAt };
  db.transaction(() => {
    openHeaderRows(db, () => newest.log).putText({ position, id, stream, version }, header);
    db.prepare('INSERT INTO payloads VALUES (?, 0, ?)').run(position, body);
    db.prepare('UPDATE head SET size = ?, root = ?, recorded_at = ?').run(head.size, head.root, head.recordedAt);
    const mac = macFor(head);
    if (mac) db.prepare('UPDATE head SET mac = ?').run(mac);
  })();
  db.close();
  return position;
}

type LogAnswer = { verified: { to: number } | null; size: number; altered?: Altered };
type Altered = { finding: string; from: number | null; to: number | null };

const words =
  /the head of log\.db is not sealed by the key of vault\.db: somebody wrote to log\.db who does not have it/;

describe('an event that somebody appended in the name of a user', () => {
  const service = useServiceHere(config);
  let stream = '';
  let key = '';
  before(async () => {
    const { body } = await service.call('POST', posts, { title: 'Said' });
    stream = `posts/${body.id}`;
    key = (await service.call('GET', '/api/audit/log')).body.verifierKey;
    await service.stop();
  });

  function copyOf(t: TestContext): string {
    const data = join(temporaryFolder(t), 'data');
    cpSync(service.data, data, { recursive: true });
    return data;
  }

  for (const [what, macFor] of Object.entries(macs)) {
    it(`is refused by the start and every command that writes, and found by verify: the code is ${what}`, async (t) => {
      const data = copyOf(t);
      const sound = await runHere(['verify', '--data', data]);
      assert.equal(sound.code, 0, sound.stdout);
      const position = forge(data, stream, macFor);
      const options = ['--config', writeConfig(temporaryFolder(t), config), '--data', data];
      const today = new Date().toISOString().slice(0, 10);
      for (const command of [
        ['serve', '--port', '0', ...options],
        ['rebuild', ...options],
        ['clock', 'correct', '--today', today, '--reason', 'x', '--data', data],
        ['signing-key', 'replace', '--reason', 'x', '--data', data],
        ['blobs', 'gc', '--dry-run', '--data', data],
        ['blobs', 'gc', '--data', data],
      ]) {
        const { code, stderr } = await runHere(command);
        assert.equal(code, 2, command.join(' '));
        assert.match(stderr, words, command.join(' '));
      }
      const { code, stdout } = await runHere(['verify', '--data', data]);
      assert.equal(code, 1);
      assert.match(stdout, new RegExp(`^NOT SOUND: ${words.source}`, 'm'));
      // An outsider sees that it is not signed.
      const outside = await run(['--key', key, join(data, 'log.db')]);
      assert.match(outside.text, new RegExp(`open +the origin of the events ${position} to ${position}`));
    });
  }

  it('is reported with its position to the operator who accepts the log, and by the next start', async (t) => {
    const data = copyOf(t);
    const position = forge(data, stream, () => null);
    const options = ['--config', writeConfig(temporaryFolder(t), config), '--data', data];
    const accept = ['rebuild', '--accept-foreign-writes', '--reason', 'it was our import', ...options];
    const other = structuredClone(config);
    Object.assign(other.collections[1]?.fields[0] ?? {}, { type: 'number' });
    const otherFile = writeConfig(temporaryFolder(t), other);
    const refused = await assertRecorded({ data }, () => runHere([...accept, '--config', otherFile]), []);
    assert.match(refused.stderr, /posts\.title is number now/);
    assert.match((await runHere(['verify', '--data', data])).stdout, new RegExp(`^NOT SOUND: ${words.source}`, 'm'));
    const accepted = await assertRecorded({ data }, () => runHere(accept), ['log.writes.accepted system/audit']);
    assert.equal(accepted.code, 0, accepted.stderr);
    const told = `event ${position} is not signed by a key of vault.db: annals events --from ${position} --to ${position} shows it`;
    assert.ok(accepted.stdout.includes(told), accepted.stdout);
    const found = await runHere(['verify', '--data', data]);
    const [size, by] = [position + 1, `event ${position + 1}`];
    const note = `note: ${by} takes the log as it was, which vault.db had not sealed: it had signed ${position - 1} of ${position} events; it was our import`;
    assert.ok(found.stdout.includes(note), found.stdout);
    const outside = await run(['--key', key, join(data, 'log.db')]);
    const open = `the authorship of the events ${position} to ${position}: the vault had not sealed the log, and somebody took it as it was, as ${by} says`;
    assert.ok(outside.text.replaceAll(/\s+/g, ' ').includes(open), outside.text);
    const listed = await runHere(['events', '--type', 'log.writes.accepted', '--json', '--data', data]);
    const { header, data: said, context } = JSON.parse(listed.stdout);
    const { stream: where, type, actor } = header;
    assert.deepEqual(
      [where, type, actor, said, context.reason],
      [
        'system/audit',
        'log.writes.accepted',
        { type: 'system' },
        { from: position - 1, to: position },
        'it was our import',
      ],
    );
    const again = await runHere(accept);
    assert.match(again.stdout, /^there was nothing to accept: vault\.db has sealed the log$/m);
    assert.match(again.stdout, new RegExp(`from ${size} events$`, 'm'));
    const count = `(${size} events); ${position - 1} of ${size} events are signed by the key ${key.split('+')[1]}`;
    assert.ok(found.stdout.includes(count), found.stdout);
    const next = await startHere(t, config, { data });
    assert.match(
      next.output().stderr,
      new RegExp(`"2 events, ${position} to ${size}, follow the last checkpoint that a key of vault.db signed"`),
    );
    await next.stop();
  });

  it('is not gone on from, nor signed, by a service that runs: the next write ends it', async (t) => {
    const data = copyOf(t);
    const running = await startHere(t, config, { data });
    assert.equal((await running.call('POST', posts, { title: 'Said too' })).status, 201);
    const position = forge(data, stream, () => null);
    assert.equal((await running.call('GET', `/api/audit/consistency?from=1`)).status, 500);
    assert.equal((await running.call('POST', posts, { title: 'Refused' })).status, 503);
    await running.stop().catch(() => {});
    const db = new Database(join(data, 'log.db'), { readonly: true });
    assert.equal(db.prepare('SELECT max(position) FROM events').pluck().get(), position);
    assert.ok((db.prepare('SELECT max(size) FROM checkpoints').pluck().get() as number) < position);
    db.close();
    const { code, stdout } = await runHere(['verify', '--data', data]);
    assert.equal(code, 1, stdout);
  });
});

describe('a service that goes through its log', () => {
  it('does not count an event that somebody appended as verified, and says so', async (t) => {
    const running = await startHere(t, config, { verifyPercent: 100 });
    const { body } = await running.call('POST', posts, { title: 'Said' });
    const read = async () => (await running.call('GET', '/api/audit/log')).body;
    const log = (isThere: (log: LogAnswer) => boolean) => askUntil(read, isThere);
    await log(({ verified, size }) => verified?.to === size);
    const position = forge(running.data, `posts/${body.id}`, () => null);
    const { altered, verified } = await log((said) => said.altered !== undefined);
    assert.match(altered?.finding ?? '', words);
    assert.deepEqual([altered?.from, altered?.to, verified?.to], [null, null, position - 1]);
    await running.stop().catch(() => {});
  });
});

describe('a checkpoint in the log', () => {
  it('of a stranger is named by the last line of verify, keeps nothing from being signed, and signs nothing', async (t) => {
    const first = await startHere(t, config);
    await first.call('POST', posts, { title: 'x' });
    await first.stop();
    const db = new Database(join(first.data, 'log.db'));
    const notes = db.prepare('SELECT size, note FROM checkpoints ORDER BY size').all() as {
      size: number;
      note: string;
    }[];
    const newest = notes.at(-1) ?? assert.fail('nothing is signed');
    // The same note, signed by an unknown key.
    const line = newest.note.replace(
      /— (\S+) \S+\n$/,
      (_all, name) => `— ${name} ${randomBytes(68).toString('base64')}\n`,
    );
    db.prepare('UPDATE checkpoints SET note = ? WHERE size = ?').run(line, newest.size);
    db.close();
    const found = await runHere(['verify', '--data', first.data]);
    assert.match(
      found.stdout,
      /; the newest checkpoint in the log, of \d+ events, is signed by a key that vault\.db does not know$/m,
    );
    const again = await startHere(t, config, { data: first.data });
    assert.match(again.output().stderr, /\d events?, .*, follows? the last checkpoint that a key of vault\.db signed"/);
    await again.stop();
    const after = await runHere(['verify', '--data', first.data]);
    assert.equal(after.code, 0, after.stdout);
    assert.doesNotMatch(after.stdout, /does not know$/m);
  });
});
