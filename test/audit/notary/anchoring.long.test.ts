import assert from 'node:assert/strict';
import { copyFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import { parseCheckpoint, parseNote } from '../../../events/proof/notes.ts';
import { startHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { bucketEnvironment, describeWithBucket, openClient, startProxy, useBucket } from '../../helpers/s3.ts';
import { type Service, startService, temporaryFolder, writeConfig } from '../../helpers/service.ts';
import { eventually } from '../../helpers/shared.ts';

const config = { bcryptCost: 4, collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };

async function post(service: Pick<Service, 'call'>, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    assert.equal((await service.call('POST', '/api/collections/posts', { title: 'x' })).status, 201);
  }
}

async function checkpoint(service: Pick<Service, 'url'>): Promise<string> {
  const response = await fetch(`${service.url}/api/audit/checkpoint`, {
    headers: { 'x-api-key': 'test-key-0123456789' },
  });
  assert.equal(response.status, 200);
  return response.text();
}

function sizeIn(note: string): number {
  return parseCheckpoint(parseNote(note)?.text ?? '')?.size ?? Number.NaN;
}

/** The sizes of the checkpoints in the folder of a data directory. */
function anchoredIn(data: string): number[] {
  const folder = join(data, 'blobs/checkpoints');
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => !name.endsWith('.part')) : [];
  return names.map((name) => {
    const note = readFileSync(join(data, 'blobs/checkpoints', name), 'utf8');
    assert.match(name, new RegExp(`^0*${sizeIn(note)}-[0-9a-f]{8}-\\d{8}t\\d{9}z$`));
    return sizeIn(note);
  });
}

/** Puts back what a backup of only some files holds. */
function restore(backup: string, data: string, names: RegExp): void {
  for (const name of readdirSync(data)) if (names.test(name) || name.startsWith('read-')) rmSync(join(data, name));
  for (const name of readdirSync(backup)) if (names.test(name)) copyFileSync(join(backup, name), join(data, name));
}

/** The size of the newest checkpoint that a log keeps. */
function newestSigned(data: string): unknown {
  const db = new Database(join(data, 'log.db'));
  const size = db.prepare('SELECT max(size) FROM checkpoints').pluck().get();
  db.close();
  return size;
}

/** Runs in this process, because the service ends before it answers. */
async function cannotStart(
  t: TestContext,
  data: string,
  environment: Record<string, string> = {},
  configured: object = config,
): Promise<string> {
  const args = ['serve', '--config', writeConfig(temporaryFolder(t), configured), '--data', data, '--port', '0'];
  const { code, stderr } = await runHere(args, { environment: { ANNALS_THREADS: '0', ...environment } });
  assert.equal(code, 2, stderr);
  return stderr;
}

const verify = (data: string, environment: Record<string, string> = {}) =>
  runHere(['verify', '--data', data], { environment });

describe('checkpoints in the folder of files', () => {
  it('find a log that was taken back, until that is accepted, and then a new key signs', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const backup = join(temporaryFolder(t), 'backup');
    const first = await startHere(t, config, { data });
    await post(first, 2);
    const early = sizeIn(await checkpoint(first));
    await eventually(() => anchoredIn(data).includes(early));
    await first.stop();
    cpSync(data, backup, { recursive: true });
    const second = await startHere(t, config, { data });
    await post(second, 3);
    await second.stop();
    // Signed and anchored at the end, too.
    const late = early + 3;
    assert.deepEqual(anchoredIn(data).sort(), [early, late]);
    const sound = await verify(data);
    assert.equal(sound.code, 0, sound.stdout);
    assert.match(sound.stdout, /^note: the log is the one of 4 signed checkpoints$/m);
    assert.match(sound.stdout, /^note: the newest event is of \d{4}-\S+Z, [\d.]+ (seconds?|minutes?) before now$/m);
    assert.match(sound.stdout, /^note: no witness or authority says when a checkpoint was there$/m);

    // The log alone: the key knows what it has signed. It and the key: the folder does.
    restore(backup, data, /^log\.db/);
    const seen = `the log lost events: it ends at position ${early}, but`;
    assert.match(await cannotStart(t, data), new RegExp(`${seen} the signing key has seen position ${late}`));
    const rebuild = ['rebuild', '--config', writeConfig(temporaryFolder(t), config), '--data', data];
    assert.match((await runHere(rebuild)).stderr, new RegExp(`${seen} the signing key has seen`));
    const found = await verify(data);
    assert.deepEqual([found.code, found.stdout.includes(`NOT SOUND: ${seen} the signing key`)], [1, true]);
    restore(backup, data, /^(log|vault)\.db/);
    const anchor = `the anchored checkpoint \\d{16}-[0-9a-f]{8}-\\d{8}t\\d{9}z has seen position ${late}`;
    assert.match(await cannotStart(t, data), new RegExp(`${seen} ${anchor}`));
    // If the start itself records something, that is not signed either.
    const other = { ...config, globals: [{ slug: 'site', fields: [{ name: 'name', type: 'text' }] }] };
    const grown = seen.replace(String(early), String(early + 1));
    assert.match(await cannotStart(t, data, {}, other), new RegExp(`${grown} ${anchor}`));
    assert.equal(newestSigned(data), early);
    const foundAgain = await verify(data);
    assert.equal(foundAgain.code, 1);
    assert.match(foundAgain.stdout, new RegExp(`NOT SOUND: ${grown} ${anchor}`));

    const accepted = await runHere([...rebuild, '--accept-lost-events', '--reason', 'the disk lost a day']);
    assert.equal(accepted.code, 0, accepted.stderr);
    assert.match(accepted.stdout, /the signing key is given up/);
    const newKey = /auditors need to know the new one: (\S+)/.exec(accepted.stdout)?.[1] ?? '';
    const third = await startHere(t, config, { data });
    const [, id = 'none'] = newKey.split('+');
    const note = await checkpoint(third);
    assert.equal(parseNote(note)?.signatures[0]?.id, id);
    await third.stop();
    const after = await verify(data);
    assert.equal(after.code, 0, after.stdout);
    // In the folder, the checkpoints of the old key stay; in the log there are none of it.
    assert.match(after.stdout, /not held against, for their key was given up: 2$/m);
    assert.ok(readdirSync(join(data, 'blobs/checkpoints')).some((name) => name.split('-')[1] === id));
    // Nothing contradicts it now, so nothing is given up.
    const again = await runHere([...rebuild, '--accept-lost-events', '--reason', 'the disk lost a day']);
    assert.doesNotMatch(again.stdout, /given up/);
  });

  it('are told when their signature or their root is another, and when their key is not known', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const service = await startHere(t, config, { data });
    await post(service, 1);
    await service.stop();
    const [name = ''] = readdirSync(join(data, 'blobs/checkpoints'));
    const path = join(data, 'blobs/checkpoints', name);
    const note = readFileSync(path, 'utf8');
    const findingOf = async () => /^NOT SOUND: (.*)$/m.exec((await verify(data)).stdout)?.[1];

    writeFileSync(path, note.replace(/\n\d+\n/, '\n1\n'));
    assert.equal(await findingOf(), `the anchored checkpoint ${name} is not signed by the key that it names`);
    writeFileSync(path, note.slice(0, 40));
    assert.equal(await findingOf(), `the anchored checkpoint ${name} is no signed checkpoint`);
    writeFileSync(path, note.replaceAll('annals/', 'annals/other-'));
    assert.match((await findingOf()) ?? '', /is that of another log, "annals\/other-/);
    writeFileSync(path, note);

    for (const file of readdirSync(data)) if (file.startsWith('vault.db')) rmSync(join(data, file));
    const bare = await verify(data);
    assert.equal(bare.code, 2, bare.stdout);
    assert.match(
      bare.stdout,
      /^note: there is no vault\.db: it cannot be told by which key the checkpoints are signed, nor what wrote/m,
    );
    assert.match(bare.stdout, /; 0 of 2 events are signed by a key that is known$/m);
    const rebuild = ['rebuild', '--config', writeConfig(temporaryFolder(t), config), '--data', data];
    assert.equal((await runHere([...rebuild, '--accept-foreign-writes', '--reason', 'x'])).code, 0);
    const next = await startHere(t, config, { data });
    await next.stop();
    const unknown = await verify(data);
    assert.deepEqual(
      [unknown.code, /by a key that vault\.db does not know: \d; they fit/.test(unknown.stdout)],
      [0, true],
    );
    const db = new Database(join(data, 'log.db'));
    db.prepare(`UPDATE checkpoints SET note = replace(note, 'annals/', 'annals/x')`).run();
    db.close();
    assert.match((await findingOf()) ?? '', /^the checkpoint of position \d+ is that of another log/);
  });
});

describe('a webhook for checkpoints', () => {
  it('gets the newest, after a restart too, and its URL is never shown', async (t) => {
    const came: string[] = [];
    let status = 200;
    const receiver = createServer(async (request, response) => {
      const note = (await request.toArray()).join('');
      if (status === 200) came.push(note);
      response.writeHead(status).end();
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => receiver.once('listening', resolve));
    t.after(() => receiver.close());
    const { port } = receiver.address() as AddressInfo;
    const data = join(temporaryFolder(t), 'data');
    const webhook = `http://who:hush@127.0.0.1:${port}/hook?token=hush`;
    const environment = {
      ANNALS_CHECKPOINT_WEBHOOK: webhook,
      ANNALS_CHECKPOINT_WEBHOOK_ALLOW_PRIVATE: 'true',
    };
    const first = await startService(t, config, { data, environment });
    const note = await checkpoint(first);
    await eventually(() => came.includes(note));
    status = 503;
    await post(first, 1);
    const late = await checkpoint(first);
    assert.equal(await first.stop(), 0);
    assert.deepEqual(came, [note]);
    assert.match(
      first.output().stderr,
      /could not be posted to the webhook at http:\/\/127\.0\.0\.1:\d+: it answered 503/,
    );
    status = 200;
    const second = await startHere(t, config, { data, webhook, webhookAllowPrivate: true });
    await eventually(() => came.includes(late));
    await second.stop();
    // A message whose answer the end of the service does not wait for is posted again.
    assert.deepEqual([...new Set(came.slice(1))], [late]);
    for (const { stdout, stderr } of [first.output(), second.output()]) assert.doesNotMatch(stdout + stderr, /hush/);
  });
});

const bucket = useBucket();

describeWithBucket('checkpoints in a bucket', () => {
  it('find a log that was taken back, as soon as the bucket answers', async (t) => {
    const proxy = await startProxy(bucket.endpoint);
    const environment = bucketEnvironment({ ...bucket, endpoint: proxy.url });
    const data = join(temporaryFolder(t), 'data');
    const backup = join(temporaryFolder(t), 'backup');
    const first = await startService(t, config, { data, environment });
    await first.stop();
    cpSync(data, backup, { recursive: true });
    const second = await startService(t, config, { data, environment });
    await post(second, 2);
    const late = sizeIn(await checkpoint(second));
    await second.stop();
    const names: string[] = [];
    for await (const { name = '' } of openClient(bucket).listObjectsV2(bucket.name, 'checkpoints/', true))
      names.push(name);
    const isLate = (name: string) => new RegExp(`^checkpoints/0+${late}-`).test(name);
    assert.ok(names.some(isLate), `${late}: ${names} ${second.output().stderr}`);
    assert.equal((await verify(data, environment)).code, 0);

    restore(backup, data, /^(log|vault)\.db/);
    assert.match(await cannotStart(t, data, environment), /the log lost events: .* the anchored checkpoint/);
    proxy.cut();
    const blind = await verify(data, environment);
    assert.equal(blind.code, 2, blind.stdout);
    assert.match(blind.stdout, /^note: the anchored checkpoints were not looked at: the bucket .* does not answer/m);
    const third = await startService(t, config, { data, environment });
    await eventually(() => /not held against the anchored checkpoints until their store/.test(third.output().stderr));
    await proxy.heal();
    const ended = new Promise((resolve) => third.child.once('exit', resolve));
    assert.equal(await ended, 1);
    assert.match(third.output().stderr, /the log is not the one that was signed; the process ends/);
  });
});
