import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { readBackupNote } from '../../server/platform/backup-note.ts';
import { startHere, useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { remainsIn } from '../helpers/leftovers.ts';
import { bucketEnvironment, describeWithBucket, openClient, useBucket } from '../helpers/s3.ts';
import { runCommand, temporaryFolder, writeConfig } from '../helpers/service.ts';
import { recordedEvents, useFolder } from '../helpers/shared.ts';

const config = {
  collections: [
    { slug: 'notes', fields: [{ name: 'text', type: 'text' as const, unique: true }] },
    { slug: 'media', upload: true as const, fields: [] },
    { slug: 'users', auth: { useAPIKey: true }, fields: [] },
  ],
};
const service = useServiceHere(config);
const folder = useFolder();
const configFile = writeConfig(useFolder(), config);
const user = { email: 'ada@example.com', password: 'a long enough password' };

async function upload(text: string): Promise<string> {
  const body = `--b\r\ncontent-disposition: form-data; name=file; filename=file.txt\r\n\r\n${text}\r\n--b--\r\n`;
  const headers = { 'content-type': 'multipart/form-data; boundary=b' };
  const answer = await service.call('POST', '/api/collections/media', body, { headers });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id;
}

async function note(text: string): Promise<string> {
  const answer = await service.call('POST', '/api/collections/notes', { text });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id;
}

let count = 0;
/** Makes a backup of the shared service; gives the path of its file. */
async function saved(...flags: string[]): Promise<string> {
  count += 1;
  const file = join(folder, `${count}.annals`);
  const made = await runHere(['backup', '--out', file, '--data', service.data, ...flags]);
  assert.equal(made.code, 0, made.stdout + made.stderr);
  assert.match(made.stdout, /^saved \d+ events? and \d+ files? in .*\nSHA-256 of the file [0-9a-f]{64}\n$/);
  return file;
}

const restore = (file: string, data: string, ...flags: string[]) =>
  runHere(['restore', file, '--data', data, ...flags]);

async function restored(t: TestContext, file: string, ...flags: string[]): Promise<string> {
  const data = join(temporaryFolder(t), 'data');
  const ended = await restore(file, data, ...flags);
  assert.equal(ended.code, 0, ended.stdout + ended.stderr);
  return data;
}

function missingTool(): string | false {
  const name = ['tar', 'sha256sum'].find((one) => spawnSync(one, ['--version']).error);
  return name !== undefined && `there is no ${name}`;
}

before(async () => {
  const made = await service.call('POST', '/api/collections/users', user);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await note('first');
  await upload('the bytes of a file');
});

describe('annals backup and annals restore', () => {
  it('bring back the documents, the files and the logins', async (t) => {
    const data = await restored(t, await saved());
    assert.deepEqual(recordedEvents(data), recordedEvents(service.data).slice(0, recordedEvents(data).length));
    assert.equal(statSync(data).mode & 0o777, 0o700);
    const verified = await runHere(['blobs', 'verify', '--data', data]);
    assert.equal(verified.code, 0, verified.stdout);
    const here = await startHere(t, config, { data });
    const list = await here.call('GET', '/api/collections/notes');
    assert.match(JSON.stringify(list.body), /"text":"first"/);
    const login = await here.call('POST', '/api/collections/users/login', user, { key: null });
    assert.equal(login.status, 200, JSON.stringify(login.body));
    const taken = await here.call('POST', '/api/collections/notes', { text: 'first' });
    assert.equal(taken.status, 409);
  });

  it('save an archive that tar opens, and sha256sum checks', { skip: missingTool() }, async (t) => {
    const file = await saved();
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const opened = temporaryFolder(t);
    execFileSync('tar', ['xf', file, '-C', opened]);
    execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: opened });
    const sha256 = hash('sha256', 'the bytes of a file');
    assert.equal(readFileSync(join(opened, 'blobs', sha256.slice(0, 2), sha256), 'utf8'), 'the bytes of a file');
    assert.ok(!existsSync(join(service.data, 'backup', 'log.db')), 'the copy stays behind');
  });

  it('leave their end and their time in the data directory', async () => {
    await saved();
    const noted = readBackupNote(service.data);
    assert.equal(noted?.position, recordedEvents(service.data).length);
    assert.ok(Date.now() - Date.parse(noted?.finishedAt ?? '') < 60_000);
  });

  it('refuse a folder that is not empty, and change nothing in it', async (t) => {
    const file = await saved();
    const data = temporaryFolder(t);
    writeFileSync(join(data, 'mine'), 'x');
    const { code, stderr } = await restore(file, data);
    assert.equal(code, 2);
    assert.match(stderr, /is not empty: it holds mine/);
    assert.deepEqual(readdirSync(data), ['mine']);
  });

  it('keep a service from starting if a restore was stopped', async (t) => {
    const data = temporaryFolder(t);
    mkdirSync(join(data, 'restoring'));
    const { code, stderr } = await runCommand([
      'serve',
      '--port',
      '0',
      '--config',
      writeConfig(data, config),
      '--data',
      data,
    ]);
    assert.equal(code, 2);
    assert.match(stderr, /holds a restore that was stopped: delete the directory/);
    assert.ok(!existsSync(join(data, 'log.db')));
  });

  it('say what a file is that is no backup', async (t) => {
    const whole = readFileSync(await saved());
    const manifest = whole.subarray(0, 512);
    const cases: [Buffer, string][] = [
      [Buffer.from('{ "a": "text" }\n'.repeat(100)), 'is not a backup of Annals: it is not a tar archive'],
      [Buffer.from('a short text'), 'is not a backup of Annals: it is not a tar archive'],
      [Buffer.alloc(0), 'is not a backup of Annals: it is empty'],
      [Buffer.alloc(1024), 'is not a backup of Annals: it is empty'],
      [gzipSync(whole), 'is not a backup of Annals: it is compressed with gzip. Decompress it first'],
      [zstdCompressSync(whole), 'is not a backup of Annals: it is compressed with zstd. Decompress it first'],
      [Buffer.from('PK\x03\x04…'), 'is not a backup of Annals: it is a ZIP archive, and backups are tar archives'],
      [manifest, 'is not a whole backup: it ends at annals-backup.json'],
      [
        Buffer.concat([whole.subarray(0, 1024), whole.subarray(0, 100)]),
        'is not a whole backup: it ends at annals-backup.json',
      ],
      [
        Buffer.concat([whole.subarray(0, 1024), Buffer.alloc(2048, 'x')]),
        'is not a whole backup: it is damaged after annals-backup.json',
      ],
    ];
    const file = join(temporaryFolder(t), 'x.annals');
    for (const [bytes, message] of cases) {
      writeFileSync(file, bytes);
      const { code, stdout, stderr } = await restore(file, join(temporaryFolder(t), 'data'));
      assert.deepEqual({ code, stdout, stderr }, { code: 2, stdout: '', stderr: `${file} ${message}\n` });
      assert.deepEqual(await runHere(['verify', file]), { code, stdout, stderr });
    }
  });

  it('refuse a file that is cut off or altered, and leave nothing that could be started', async (t) => {
    const file = await saved();
    const { size } = statSync(file);
    truncateSync(file, size - 3000);
    const data = join(temporaryFolder(t), 'data');
    const short = await restore(file, data);
    assert.equal(short.code, 2, short.stdout);
    assert.match(short.stderr, /is not a whole backup/);
    assert.ok(!existsSync(join(data, 'log.db')));

    const other = await saved();
    const bytes = readFileSync(other);
    bytes.write('THE', bytes.indexOf('the bytes of a file'));
    writeFileSync(other, bytes);
    const altered = await restore(other, join(temporaryFolder(t), 'data'));
    assert.equal(altered.code, 2, altered.stdout);
    assert.match(altered.stderr, /was altered: blobs\/[0-9a-f]{2}\/[0-9a-f]{64} is not what SHA256SUMS says/);
  });

  it('save what annals verify finds sound', async () => {
    const verified = await runHere(['verify', await saved()]);
    assert.equal(verified.code, 0, verified.stdout + verified.stderr);
    assert.match(verified.stdout, /\nsound: the backup is whole \(\d+ events, 1 file\); /);
  });

  it('save no log that annals verify finds unsound', async (t) => {
    const data = await restored(t, await saved());
    const db = new Database(join(data, 'log.db'));
    db.exec("PRAGMA ignore_check_constraints = ON; UPDATE head SET recorded_at = '2000-01-01T00:00:00.000Z'");
    db.close();
    const file = join(temporaryFolder(t), 'x.annals');
    const { code, stdout, stderr } = await runHere(['backup', '--out', file, '--data', data]);
    assert.equal(code, 1, stdout + stderr);
    assert.match(stdout + stderr, /NOT SOUND: /);
    assert.ok(!existsSync(file));
  });

  it('keep an existing file unless --force is given', async () => {
    const file = await saved();
    const kept = await runHere(['backup', '--out', file, '--data', service.data]);
    assert.equal(kept.code, 2);
    assert.match(kept.stderr, /is there; --force overwrites it/);
    assert.equal((await runHere(['backup', '--out', file, '--force', '--data', service.data])).code, 0);
  });

  it('restore the log as of a position, without what was erased since', async (t) => {
    const kept = await note('kept until now');
    const secret = await note('a secret that goes');
    const position = recordedEvents(service.data).length;
    await service.call('PATCH', `/api/collections/notes/${kept}`, { text: 'changed later' });
    const body = { collection: 'notes', id: secret, reason: 'asked for it' };
    const erased = await service.call('POST', '/api/audit/erasures', body);
    assert.equal(erased.status, 201, JSON.stringify(erased.body));
    const file = await saved();
    const data = await restored(t, file, '--to', String(position));
    assert.deepEqual(remainsIn(data, ['a secret that goes', 'changed later']), []);
    const events = recordedEvents(data);
    assert.deepEqual(events.slice(0, position), recordedEvents(service.data).slice(0, position));
    assert.deepEqual(
      events.slice(position).map(({ type }) => type),
      ['document.erased'],
    );

    const accepting = ['--accept-lost-events', '--reason', 'a mistake of today', '--data', data];
    const rebuilt = await runHere(['rebuild', '--config', configFile, ...accepting]);
    assert.equal(rebuilt.code, 0, rebuilt.stderr);
    const here = await startHere(t, config, { data });
    assert.equal((await here.call('GET', `/api/collections/notes/${kept}`)).body.text, 'kept until now');
    assert.equal((await here.call('GET', `/api/collections/notes/${secret}`)).status, 404);
    assert.equal((await here.call('POST', '/api/collections/notes', { text: 'kept until now' })).status, 409);
    await here.stop();
    const verified = await runHere(['verify', '--data', data]);
    assert.match(verified.stdout, /\nsound: /);
  });

  it('refuse a moment that the log does not reach', async (t) => {
    const { code, stderr } = await restore(await saved(), join(temporaryFolder(t), 'data'), '--to', '99999');
    assert.equal(code, 2);
    assert.match(stderr, /--to/);
  });

  it('save a large file without a warning', async (t) => {
    await upload('a line of a large file\n'.repeat(100_000));
    const warnings: string[] = [];
    const note = ({ message }: Error) => warnings.push(message);
    process.on('warning', note);
    t.after(() => process.off('warning', note));
    await saved();
    // Warnings are emitted later.
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(warnings, []);
  });
});

describe('A series of backups', () => {
  const backup = (place: string, ...flags: string[]) =>
    runHere(['backup', '--to', place, '--data', service.data, ...flags]);
  const backupsIn = (place: string) => readdirSync(place).filter((name) => name.includes('.annals'));

  /** Two backups, between which what the first one has is erased. @param between runs before the second one. */
  async function erasedBetween(t: TestContext, between: (place: string) => Promise<void> = async () => {}) {
    const place = join(temporaryFolder(t), 'series');
    const secret = await note('known by a name');
    const first = await backup(place);
    assert.equal(first.code, 0, first.stdout + first.stderr);
    const [name = ''] = backupsIn(place);
    const body = { collection: 'notes', id: secret, reason: 'asked for it' };
    assert.equal((await service.call('POST', '/api/audit/erasures', body)).status, 201);
    await between(place);
    assert.equal((await backup(place)).code, 0);
    return { place, secret, name };
  }

  it('is restored from its newest, without what was erased after that', async (t) => {
    await upload('a portrait');
    const { place, secret, name } = await erasedBetween(t, async (folder) => {
      // The backup's own list does not have the erasure yet.
      const early = await restored(t, folder);
      assert.notDeepEqual(remainsIn(early, ['known by a name']), []);
    });
    const data = join(temporaryFolder(t), 'data');
    const { code, stdout, stderr } = await restore(join(place, name), data);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /\nerased again what 1 later erasure had erased\n/);
    assert.deepEqual(remainsIn(data, ['known by a name']), []);
    const here = await startHere(t, config, { data });
    assert.equal((await here.call('GET', `/api/collections/notes/${secret}`)).status, 404);
    await here.stop();
    assert.match((await runHere(['verify', '--data', data])).stdout, /\nsound: /);
  });

  it('gives its list of erasures to a backup taken out of it, which reports a missing list', async (t) => {
    const { place, name } = await erasedBetween(t);
    const list = join(place, 'erasures.json');
    const alone = join(temporaryFolder(t), 'alone.annals');
    writeFileSync(alone, readFileSync(join(place, name)));
    assert.deepEqual(remainsIn(await restored(t, alone, '--erasures', list), ['known by a name']), []);
    const unknown = await restore(alone, join(temporaryFolder(t), 'data'));
    assert.match(
      unknown.stdout,
      /erasures are known up to event \d+: .*; --erasures FILE names a newer list of them\n$/,
    );
  });

  it('refuses a list of erasures that was altered', async (t) => {
    const place = temporaryFolder(t);
    assert.equal((await backup(place)).code, 0);
    const list = join(place, 'erasures.json');
    writeFileSync(list, readFileSync(list, 'utf8').replace('"versions": 1', '"versions": 2'));
    const data = join(temporaryFolder(t), 'data');
    const { code, stderr } = await restore(place, data);
    assert.equal(code, 2);
    assert.match(stderr, /erasures\.json in .* was altered: it is not what was signed/);
    assert.deepEqual(readdirSync(data), []);
  });

  /** A series that is encrypted to a key, and the file with that. */
  async function encrypted(t: TestContext) {
    const { generateIdentity, identityToRecipient } = await import('age-encryption');
    const identity = await generateIdentity();
    const recipient = await identityToRecipient(identity);
    const keys = join(temporaryFolder(t), 'key.txt');
    writeFileSync(keys, `# created today\n${identity}\n`);
    const place = temporaryFolder(t);
    const made = await backup(place, '--recipient', recipient);
    assert.equal(made.code, 0, made.stdout + made.stderr);
    const [name = ''] = backupsIn(place);
    assert.match(name, /\.annals\.age$/);
    return { place, name, keys };
  }

  it('is opened by the private key alone if it is encrypted to a public one', async (t) => {
    const { generateIdentity } = await import('age-encryption');
    const { place, name, keys } = await encrypted(t);
    assert.deepEqual(remainsIn(join(place), ['the bytes of a file', 'annals-backup.json']), []);

    const closed = await restore(place, join(temporaryFolder(t), 'data'));
    assert.equal(closed.code, 2);
    assert.match(closed.stderr, /is encrypted: --identity FILE names the file with its private key/);
    const other = join(temporaryFolder(t), 'other.txt');
    writeFileSync(other, await generateIdentity());
    const wrong = await restore(place, join(temporaryFolder(t), 'data'), '--identity', other);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /cannot be decrypted with this private key/);

    const data = await restored(t, place, '--identity', keys);
    assert.equal((await runHere(['blobs', 'verify', '--data', data])).code, 0);
    const verified = await runHere(['verify', join(place, name), '--identity', keys]);
    assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  });

  it('is not restored if it was cut off after it was encrypted', async (t) => {
    const { place, name, keys } = await encrypted(t);
    truncateSync(join(place, name), statSync(join(place, name)).size - 100);
    const short = await restore(place, join(temporaryFolder(t), 'data'), '--identity', keys);
    assert.equal(short.code, 2, short.stdout);
    assert.match(short.stderr, /is not a whole backup: it was cut off or altered after it was encrypted$/m);
  });

  it('says that a backup is there whose list of erasures could not be replaced', async (t) => {
    const place = temporaryFolder(t);
    // No file takes the place of a folder.
    mkdirSync(join(place, 'erasures.json', 'in-the-way'), { recursive: true });
    const { code, stdout, stderr } = await backup(place);
    assert.equal(code, 2);
    assert.match(stdout, /^saved \d+ events as \S+\.annals in /);
    assert.match(
      stderr,
      /^the backup is whole and in its place, but erasures\.json beside it could not be replaced: .* run the same command again\n$/,
    );
    assert.equal(backupsIn(place).length, 1);
  });

  it('keeps what its rules name', async (t) => {
    const place = temporaryFolder(t);
    const old = ['20200101T000000000Z-0000000001.annals', '20200101T010000000Z-0000000001.annals'];
    for (const name of [...old, 'mine.txt']) writeFileSync(join(place, name), '');
    const made = await backup(place, '--keep', '24h,7d');
    assert.equal(made.code, 0, made.stdout + made.stderr);
    assert.match(made.stdout, /\nremoved 2 backups that --keep does not name\n$/);
    assert.equal(backupsIn(place).length, 1);
    assert.ok(existsSync(join(place, 'mine.txt')));
  });

  it('needs a key for a bucket, and says what else is wrong', async (t) => {
    const place = temporaryFolder(t);
    const refusals: [flags: string[], message: RegExp][] = [
      [['--to', 's3://backups/annals'], /a backup in a bucket is encrypted, .*--plain saves it as it is/],
      [['--to', 's3://backups/annals', '--plain'], /needs the address and keys of its server: --s3 FILE/],
      [['--to', place, '--keep', '24x'], /--keep must be like 24h,7d,8w/],
      [['--to', place, '--every', '1'], /--every must be like 30m, 1h or 1d/],
      [['--to', place, '--recipient', 'age1x'], /--recipient: it must be a public key of age like age1…, got "age1x"/],
      [['--out', join(place, 'x'), '--keep', '1h'], /--keep goes with --to/],
      [[], /either --out FILE for one backup, or --to FOLDER/],
    ];
    for (const [flags, message] of refusals) {
      const { code, stderr } = await runHere(['backup', '--data', service.data, ...flags]);
      assert.equal(code, 2, flags.join(' '));
      assert.match(stderr, message);
    }
    assert.deepEqual(readdirSync(place), []);
  });
});

describeWithBucket('A series of backups in a bucket', () => {
  const bucket = useBucket();

  it('is encrypted, read back, and restored', async (t) => {
    const { generateIdentity, identityToRecipient } = await import('age-encryption');
    const identity = await generateIdentity();
    const keys = join(temporaryFolder(t), 'key.txt');
    writeFileSync(keys, identity);
    await openClient(bucket).makeBucket(bucket.name);
    const { endpoint, accessKey, secretKey } = bucket;
    const s3 = join(temporaryFolder(t), 's3.json');
    writeFileSync(s3, JSON.stringify({ endpoint, accessKey, secretKey }));
    const place = `s3://${bucket.name}/annals/daily`;
    const recipient = ['--recipient', await identityToRecipient(identity)];
    const made = await runHere(['backup', '--to', place, '--s3', s3, '--data', service.data, ...recipient]);
    assert.equal(made.code, 0, made.stdout + made.stderr);
    const data = await restored(t, place, '--s3', s3, '--identity', keys);
    assert.equal((await runHere(['blobs', 'verify', '--data', data])).code, 0);
  });

  it('has the uploaded files of a site that keeps them in a bucket', async (t) => {
    const environment = bucketEnvironment(bucket);
    const data = join(temporaryFolder(t), 'data');
    const moved = await runHere(['restore', await saved(), '--data', data], { environment });
    assert.equal(moved.code, 0, moved.stderr);
    assert.deepEqual(remainsIn(data, ['the bytes of a file']), []);
    const file = join(temporaryFolder(t), 'b.annals');
    const made = await runHere(['backup', '--out', file, '--data', data], { environment });
    assert.equal(made.code, 0, made.stdout + made.stderr);
    const back = await restored(t, file);
    assert.equal((await runHere(['blobs', 'verify', '--data', back])).code, 0);
    assert.notDeepEqual(remainsIn(back, ['the bytes of a file']), []);
  });
});
