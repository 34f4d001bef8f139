import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { nameOf } from '../../cli/backup/keeping.ts';
import { objectName, removeSegments } from '../../cli/backup/segment-objects.ts';
import { openFolderFiles } from '../../storage/folder-files.ts';
import { runHere } from '../helpers/in-process.ts';
import { remainsIn } from '../helpers/leftovers.ts';
import { runsOf } from '../helpers/runs.ts';
import { describeWithBucket, openClient, useBucket } from '../helpers/s3.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { recordedEvents } from '../helpers/shared.ts';
import { findingIn } from '../projections/directory.ts';
import { backupsIn, objectsIn, restored, useArchivingService } from './archiving-here.ts';

const { service, segments, post, archive, erase, saved } = useArchivingService();

const inodes = (place: string) =>
  Object.fromEntries(objectsIn(place).map((name) => [name, statSync(join(place, 'segments', name)).ino]));

async function identity(t: TestContext): Promise<{ keys: string; recipient: string }> {
  const { generateIdentity, identityToRecipient } = await import('age-encryption');
  const made = await generateIdentity();
  const keys = join(temporaryFolder(t), 'key.txt');
  writeFileSync(keys, made);
  return { keys, recipient: await identityToRecipient(made) };
}

function missingTool(): string | false {
  const name = ['tar', 'sha256sum'].find((one) => spawnSync(one, ['--version']).error);
  return name !== undefined && `there is no ${name}`;
}

describe('The segments of a series of backups', () => {
  it('are copied once, and each backup has the whole log with them', async (t) => {
    const place = join(temporaryFolder(t), 'series');
    await saved(place);
    const first = inodes(place);
    assert.deepEqual(
      Object.keys(first),
      segments().map(({ file }) => file),
    );
    await archive();
    await saved(place);
    const { length } = segments();
    assert.equal(objectsIn(place).length, length);
    assert.deepEqual({ ...inodes(place), ...first }, inodes(place), 'a segment was written again');
    for (const name of backupsIn(place)) {
      assert.ok(!readFileSync(join(place, name)).includes('segments/'));
      const events = recordedEvents(await restored(t, join(place, name)));
      assert.deepEqual(events, recordedEvents(service.data).slice(0, events.length));
      const verified = await runHere(['verify', join(place, name)]);
      assert.match(verified.stdout, /^sound: the backup is whole/m, verified.stdout + verified.stderr);
    }
  });

  it('are opened by hand, with those of the log for names', { skip: missingTool() }, async (t) => {
    const place = temporaryFolder(t);
    await saved(place);
    const [oldest = ''] = backupsIn(place);
    const opened = temporaryFolder(t);
    execFileSync('tar', ['xf', join(place, oldest), '-C', opened]);
    execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: opened });
    writeFileSync(join(opened, 'log.db'), zstdDecompressSync(readFileSync(join(opened, 'log.db.zst'))));
    cpSync(join(place, 'segments'), join(opened, 'segments'), { recursive: true });
    assert.equal(findingIn(opened), null);
  });

  it('are named if they are missing or altered, and sent again if they are missing', async (t) => {
    const place = temporaryFolder(t);
    await saved(place);
    const [first = '', second = '', ...others] = objectsIn(place);
    const [lost, changed] = [first, second].map((name) => join(place, 'segments', name)) as [string, string];
    const bytes = readFileSync(changed);
    const wrong = [
      bytes.subarray(0, -1),
      Buffer.concat([bytes, bytes]),
      Buffer.from(bytes).fill(0, bytes.length - 3),
      Buffer.alloc(0),
    ];
    rmSync(lost);
    for (const one of wrong) {
      writeFileSync(changed, one);
      const told =
        `NOT SOUND: the segment of events 1 to 20 is missing: ${first} in ${place}/segments; ` +
        `the segment of events 21 to 40 was altered: ${second} in ${place}/segments`;
      const verified = await runHere(['verify', place]);
      assert.deepEqual([verified.code, verified.stdout], [1, `${told}\n`], verified.stderr);
      const folder = join(temporaryFolder(t), 'data');
      const refused = await runHere(['restore', place, '--data', folder]);
      assert.deepEqual([refused.code, refused.stdout], [1, `${told}; nothing was restored\n`], refused.stderr);
      assert.deepEqual(readdirSync(folder), []);
    }
    rmSync(changed);
    assert.ok(others.length > 0);
    await saved(place);
    await restored(t, place);
  });

  it('come with a compressed log, of which an altered byte is told', async (t) => {
    const place = temporaryFolder(t);
    await saved(place);
    const path = join(place, backupsIn(place)[0] ?? '');
    const bytes = readFileSync(path);
    const at = bytes.indexOf('log.db.zst\0');
    const size = Number.parseInt(bytes.toString('latin1', at + 124, at + 135), 8);
    for (const place of [0, 6, Math.floor(size / 2), size - 1]) {
      const wrong = Buffer.from(bytes);
      wrong[at + 512 + place] = (wrong[at + 512 + place] ?? 0) ^ 1;
      writeFileSync(path, wrong);
      const { code, stdout, stderr } = await runHere(['restore', path, '--data', join(temporaryFolder(t), 'data')]);
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, / was altered: log\.db\.zst (cannot be decompressed|is not what SHA256SUMS says)\n$/);
    }
  });

  it('stay as long as a backup needs them, with what was erased after it', async (t) => {
    const place = temporaryFolder(t);
    const id = await post('Numbat-old');
    await archive();
    await saved(place);
    const before = objectsIn(place);
    await erase(id);

    await saved(place, '--keep', '24h');
    assert.equal(backupsIn(place).length, 1, 'two of one hour');
    const after = objectsIn(place);
    assert.deepEqual(
      after,
      segments().map(({ file }) => file),
    );
    assert.equal(before.filter((name) => !after.includes(name)).length, 1, 'one segment was written anew');
    assert.deepEqual(remainsIn(place, ['Numbat-old']), []);
    await restored(t, place);
  });

  it('are kept for the earlier backups that --keep names, and restored without what was erased', async (t) => {
    const place = temporaryFolder(t);
    const id = await post('Numbat-two');
    await archive();
    await saved(place);
    const [name = ''] = backupsIn(place);
    // The backup is given the name of one of yesterday.
    const earlier = nameOf(new Date(Date.now() - 86_400_000), Number(/-(\d+)\.annals$/.exec(name)?.[1]), false);
    renameSync(join(place, name), join(place, earlier));
    renameSync(join(place, 'segments', `${name}.list`), join(place, 'segments', `${earlier}.list`));
    await erase(id);
    await saved(place, '--keep', '2d');
    assert.equal(backupsIn(place).length, 2);
    assert.notDeepEqual(remainsIn(place, ['Numbat-two']), []);
    const folder = await restored(t, join(place, earlier));
    assert.deepEqual(remainsIn(folder, ['Numbat-two']), []);
    const told = await saved(place, '--keep', '1d');
    assert.match(told, /^removed 2 backups that --keep does not name\nremoved 1 segment that no backup needs\n/m);
    assert.deepEqual(remainsIn(place, ['Numbat-two']), []);
  });

  it('all stay while a backup is there that has no list of its segments', async (t) => {
    const place = temporaryFolder(t);
    await saved(place);
    const all = objectsIn(place);
    const stray = `${'9'.repeat(10)}-9999999999-${'a'.repeat(16)}.seg`;
    writeFileSync(join(place, 'segments', stray), 'of a backup that was killed');
    const old = nameOf(new Date(Date.now() - 86_400_000), 10, false);
    writeFileSync(join(place, old), '');
    await saved(place, '--keep', '3d');
    assert.ok(existsSync(join(place, old)));
    assert.deepEqual(objectsIn(place), [...all, stray]);
    await saved(place, '--keep', '1d');
    assert.ok(!existsSync(join(place, old)));
    assert.deepEqual(objectsIn(place), all);
  });

  it('are encrypted to the public keys of the backups that need them', async (t) => {
    const place = temporaryFolder(t);
    const [one, other] = [await identity(t), await identity(t)];
    await saved(place, '--recipient', one.recipient);
    const { length } = segments();
    assert.equal(objectsIn(place).length, length);
    assert.deepEqual(remainsIn(place, ['Bilby']), []);
    const first = inodes(place);
    await saved(place, '--recipient', one.recipient);
    assert.deepEqual(inodes(place), first);
    // A key that came later opens nothing of before.
    await saved(place, '--recipient', other.recipient);
    assert.equal(objectsIn(place).length, 2 * length);
    await restored(t, place, '--identity', other.keys);
    const [oldest = ''] = backupsIn(place);
    await restored(t, join(place, oldest), '--identity', one.keys);
  });

  it('that are encrypted are named if they are altered', async (t) => {
    const place = temporaryFolder(t);
    const one = await identity(t);
    await saved(place, '--recipient', one.recipient);
    const [oldest = ''] = backupsIn(place);
    const [name = ''] = objectsIn(place);
    const path = join(place, 'segments', name);
    const bytes = readFileSync(path);
    for (const wrong of [
      bytes.subarray(0, -40),
      Buffer.from(bytes).fill(0, bytes.length - 40),
      bytes.subarray(0, 30),
    ]) {
      writeFileSync(path, wrong);
      const verified = await runHere(['verify', join(place, oldest), '--identity', one.keys]);
      assert.deepEqual(
        [verified.code, verified.stdout.includes(`was altered: ${name} in`)],
        [1, true],
        verified.stderr,
      );
    }
  });

  it('are found beside a backup that was copied with them under another name', async (t) => {
    const [place, copy] = [temporaryFolder(t), temporaryFolder(t)];
    await saved(place);
    cpSync(join(place, backupsIn(place)[0] ?? ''), join(copy, 'b.annals'));
    const alone = await runHere(['restore', join(copy, 'b.annals'), '--data', join(temporaryFolder(t), 'data')]);
    assert.equal(alone.code, 1);
    assert.match(
      alone.stdout,
      /^NOT SOUND: the segment of events 1 to 20 is missing: .*; and \d+ more; nothing was restored$/m,
    );
    cpSync(join(place, 'segments'), join(copy, 'segments'), { recursive: true });
    await restored(t, join(copy, 'b.annals'));
  });

  it('are removed when no list names them, whatever backups there are', async (t) => {
    const day = 86_400_000;
    const now = Date.now();
    const files = Array.from({ length: 5 }, (_, at) => `000000000${at}-0000000099-${'a'.repeat(16)}.seg`);
    const made = fc.array(
      fc.record({
        age: fc.integer({ min: 0, max: 5 }),
        isThere: fc.boolean(),
        isListed: fc.boolean(),
        needs: fc.subarray(files.flatMap((file) => [file, objectName(file, ['age1x'])])),
      }),
      { maxLength: 5 },
    );
    await fc.assert(
      fc.asyncProperty(made, async (backups) => {
        const folder = temporaryFolder(t);
        const place = openFolderFiles(folder);
        const all = backups.map(({ age, ...one }, at) => ({
          ...one,
          name: nameOf(new Date(now - age * (day / 2) - at * 1000 - 1), at, false),
          isYoung: age < 2,
        }));
        mkdirSync(folder, { recursive: true });
        for (const name of [...files, ...files.map((file) => objectName(file, ['age1x'])), 'mine.txt'])
          writeFileSync(join(folder, name), 'x');
        for (const { name, isListed, needs } of all)
          if (isListed) writeFileSync(join(folder, `${name}.list`), needs.map((one) => `${one}\n`).join(''));
        const there = all.filter(({ isThere }) => isThere);
        await removeSegments(
          place,
          there.map(({ name }) => name),
          now,
        );
        const left = readdirSync(folder);
        assert.ok(left.includes('mine.txt'));
        const isSure = there.every(({ isListed }) => isListed);
        const held = all.filter(({ isThere, isListed, isYoung }) => isListed && (isThere || isYoung));
        const needed = new Set(held.flatMap(({ needs }) => needs));
        for (const name of [...files, ...files.map((file) => objectName(file, ['age1x']))])
          assert.equal(left.includes(name), !isSure || needed.has(name), name);
        for (const { name } of held) assert.ok(left.includes(`${name}.list`));
      }),
      { numRuns: runsOf(30) },
    );
  });
});

describeWithBucket('The segments of a series of backups in a bucket', () => {
  const bucket = useBucket();

  it('are copied once, encrypted, named if they are missing, and removed with the backups', async (t) => {
    const client = openClient(bucket);
    await client.makeBucket(bucket.name);
    const { keys, recipient } = await identity(t);
    const { endpoint, accessKey, secretKey } = bucket;
    const s3 = join(temporaryFolder(t), 's3.json');
    writeFileSync(s3, JSON.stringify({ endpoint, accessKey, secretKey }));
    const place = `s3://${bucket.name}/annals`;
    const list = async () => {
      const found: { name: string; at: number }[] = [];
      for await (const one of client.listObjectsV2(bucket.name, 'annals/segments/', true))
        if (one.name && !one.name.endsWith('.list'))
          found.push({ name: one.name, at: one.lastModified?.getTime() ?? 0 });
      return found;
    };
    const id = await post('Numbat-three');
    await archive();
    await saved(place, '--s3', s3, '--recipient', recipient);
    const first = await list();
    assert.equal(first.length, segments().length);
    await archive();
    await saved(place, '--s3', s3, '--recipient', recipient);
    const second = await list();
    assert.equal(second.length, first.length + 1);
    for (const one of first)
      assert.deepEqual(
        second.find(({ name }) => name === one.name),
        one,
      );
    await restored(t, place, '--s3', s3, '--identity', keys);

    const [gone] = second;
    await client.removeObject(bucket.name, gone?.name ?? '');
    const verified = await runHere(['verify', place, '--s3', s3, '--identity', keys]);
    assert.equal(verified.code, 1, verified.stderr);
    const name = gone?.name.replace('annals/segments/', '');
    assert.equal(
      verified.stdout,
      `NOT SOUND: the segment of events 1 to 20 is missing: ${name} in s3://${bucket.name}/annals/segments/\n`,
    );
    await erase(id);
    await saved(place, '--s3', s3, '--recipient', recipient, '--keep', '1h');
    const names = (await list()).map((one) => one.name);
    assert.deepEqual(
      names,
      segments().map(({ file }) => `annals/segments/${objectName(file, [recipient])}`),
    );
    await restored(t, place, '--s3', s3, '--identity', keys);
  });
});
