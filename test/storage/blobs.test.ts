import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { openBlobStore } from '../../storage/blob-store.ts';
import {
  BlobMissingError,
  type BlobSettings,
  type BlobStore,
  BlobsRefusedError,
  BlobsUnavailableError,
  type ReceivedFile,
} from '../../storage/blobs.ts';
import { clearIncoming, receiveFile } from '../../storage/incoming.ts';
import { useSmallDisk } from '../helpers/disk.ts';
import { describeWithBucket, openClient, useBucket } from '../helpers/s3.ts';
import { eventually, useFolder } from '../helpers/shared.ts';

const folder = useFolder();
const bucket = useBucket();

/** Puts bytes under a name into what a store keeps its files in, behind its back. */
type Plant = (name: string, bytes: Buffer) => Promise<void>;

const keptInFolder = join(folder, 'kept');
const plantInFolder: Plant = async (name, bytes) => {
  mkdirSync(join(keptInFolder, name, '..'), { recursive: true });
  writeFileSync(join(keptInFolder, name), bytes);
};
const plantInBucket: Plant = async (name, bytes) => {
  await openClient(bucket).putObject(bucket.name, name, bytes);
};

contract('a folder', { kind: 'folder', folder: keptInFolder }, plantInFolder);
const { name, ...reach } = bucket;
contract('a bucket', { kind: 'bucket', incoming: join(folder, 'received'), bucket: name, ...reach }, plantInBucket);

describe('a folder for files that is removed while it is open', { skip: process.platform !== 'linux' }, () => {
  it('refuses what it is given, and does not go on trying', { timeout: 20_000 }, async () => {
    // Like a mounted folder, it still exists, but nothing can be made in it.
    const removed = join(folder, 'removed');
    mkdirSync(removed);
    const number = openSync(removed, 'r');
    rmSync(removed, { recursive: true });
    const store = openBlobStore({ kind: 'folder', folder: `/proc/self/fd/${number}/blobs` });
    try {
      await assert.rejects(store.anchor('0000000000000001-00000000-x', 'a note'), BlobsUnavailableError);
      await assert.rejects(store.prepare('annals/one'), BlobsRefusedError);
    } finally {
      closeSync(number);
    }
  });
});

/** The behaviour of every store of files. */
function contract(name: string, settings: BlobSettings, plant: Plant): void {
  const describeFiles = settings.kind === 'bucket' ? describeWithBucket : describe;
  describeFiles(`files in ${name}`, () => {
    const store = openBlobStore(settings);
    before(async () => {
      clearIncoming(store.incoming);
      await store.prepare('annals/one');
    });
    after(() => store.close());

    const receive = (bytes: Buffer) => receiveFile(store.incoming, piecesOf(bytes), () => {});
    async function keep(bytes: Buffer): Promise<ReceivedFile> {
      const file = await receive(bytes);
      await store.keep(file);
      rmSync(file.path, { force: true });
      return file;
    }

    it('come back as they were kept, whole and in parts, from no byte to 12 MB', async () => {
      for (const size of [0, 1, 70_000, 12_000_000]) {
        const bytes = randomBytes(size);
        const { sha256 } = await keep(bytes);
        assert.equal(await store.size(sha256), size);
        assert.ok(await isRead(store, sha256, bytes), `${size} bytes`);
        for (const [start, end] of [
          [0, 0],
          [size - 1, size - 1],
          [0, size - 1],
          [size >> 1, (size >> 1) + 99],
        ] as const) {
          if (start < 0 || end < start || end >= size) continue;
          const isPart = await isRead(store, sha256, bytes.subarray(start, end + 1), { start, end });
          assert.ok(isPart, `${start} to ${end} of ${size} bytes`);
        }
      }
    });

    it('are there once, however often and at the same time they are kept', async () => {
      const small = randomBytes(1000);
      const large = randomBytes(5_000_000);
      const files = await Promise.all([...Array(20).fill(small), ...Array(5).fill(large)].map(receive));
      await Promise.all(files.map(store.keep));
      await keep(small);
      for (const bytes of [small, large]) {
        const sha256 = sha256Of(bytes);
        const found = (await Array.fromAsync(store.list())).filter((blob) => blob.sha256 === sha256);
        assert.deepEqual(found, [{ sha256, size: bytes.length }]);
        assert.ok((await read(store, sha256)).equals(bytes));
      }
    });

    it('are told to be missing before the first byte', async () => {
      const none = 'a'.repeat(64);
      await assert.rejects(store.open(none), BlobMissingError);
      await assert.rejects(store.open(none, { start: 0, end: 9 }), BlobMissingError);
      assert.equal(await store.size(none), null);
      await store.remove(none);
    });

    it('are kept anew if a copy of another size lies, which no store makes', async () => {
      const bytes = randomBytes(5000);
      const sha256 = sha256Of(bytes);
      await plant(`${sha256.slice(0, 2)}/${sha256}`, bytes.subarray(0, 999));
      assert.equal(await store.size(sha256), 999);
      await keep(bytes);
      assert.ok((await read(store, sha256)).equals(bytes));
    });

    it('leave nothing open when their reader goes away', async () => {
      const { sha256 } = await keep(randomBytes(5_000_000));
      const isOpen = () => process.getActiveResourcesInfo().length + descriptors();
      await read(store, sha256, { start: 0, end: 9 });
      // Streams of earlier tests may still be closing.
      let idle = -1;
      while (idle !== isOpen()) {
        idle = isOpen();
        await wait(50);
      }
      const streams = await Promise.all(Array.from({ length: 5 }, () => store.open(sha256)));
      assert.ok(isOpen() > idle, 'the readers hold something');
      for (const stream of streams) {
        await stream[Symbol.asyncIterator]().next();
        stream.destroy();
      }
      await eventually(() => isOpen() <= idle);
    });

    it('are listed each once, and nothing else is', async () => {
      const sizes = new Map<string, number>();
      const kept = await Promise.all(Array.from({ length: 50 }, (_, i) => keep(randomBytes(i + 10))));
      for (const { sha256, size } of kept) sizes.set(sha256, size);
      const other = 'ab'.repeat(32);
      const strangers = ['readme.txt', `ab/${other}.part`, `cd/${other}`, `ab/${other.toUpperCase()}`, `x/ab/${other}`];
      for (const stranger of strangers) await plant(stranger, Buffer.from('x'));
      const listed = await Array.fromAsync(store.list());
      assert.equal(new Set(listed.map(({ sha256 }) => sha256)).size, listed.length);
      assert.deepEqual(new Map(listed.filter(({ sha256 }) => sizes.has(sha256)).map((b) => [b.sha256, b.size])), sizes);
      assert.ok(!listed.some(({ sha256 }) => sha256.toLowerCase() === other));
    });

    it('have texts beside them that are kept for ever, found by name and no files', async () => {
      const texts = ['0001-ab', '0002-cd', '0010-ab'].map((one) => ({ name: one, text: `the text — ${one}\n` }));
      for (const { name: one, text } of texts.toReversed()) await store.anchor(one, text);
      await store.anchor('0001-ab', 'the text — 0001-ab\n');
      for (const stranger of ['Other', '0001-ab.part', 'x/0001'])
        await plant(`checkpoints/${stranger}`, Buffer.from('x'));
      const found = async (from?: string) => {
        const anchors = await Array.fromAsync(store.anchors(from));
        return Promise.all(anchors.map(async ({ name: one, read }) => ({ name: one, text: await read() })));
      };
      assert.deepEqual(await found(), texts);
      assert.deepEqual(await found('0002'), texts.slice(1));
      assert.deepEqual(await found('0011'), []);
      await assert.rejects(store.anchor('0002-cd', 'another\n'), BlobsRefusedError);
      assert.deepEqual(await found(), texts);
      assert.ok(!(await Array.fromAsync(store.list())).some(({ sha256 }) => sha256.includes('-')));
    });

    it('are gone when they are removed, and can be kept again', async () => {
      const bytes = randomBytes(10);
      const { sha256 } = await keep(bytes);
      await store.remove(sha256);
      assert.equal(await store.size(sha256), null);
      await assert.rejects(store.open(sha256), BlobMissingError);
      await keep(bytes);
      assert.ok((await read(store, sha256)).equals(bytes));
    });

    it('belong to one log: a store is made ready for it again and again, and for no other', async () => {
      await store.prepare('annals/one');
      await assert.rejects(store.prepare('annals/two'), (error) => {
        return error instanceof BlobsRefusedError && /holds the files of another log/.test(error.message);
      });
    });
  });
}

describe('files in a folder, on its disk', () => {
  const settings: BlobSettings = { kind: 'folder', folder: join(folder, 'own') };
  const disk = useSmallDisk(1_000_000);

  it('are for the user of the process alone', { skip: process.platform === 'win32' }, async () => {
    const store = openBlobStore(settings);
    clearIncoming(store.incoming);
    await store.prepare('annals/one');
    const file = await receiveFile(store.incoming, piecesOf(randomBytes(10)), () => {});
    const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
    assert.equal(modeOf(file.path), '600');
    await store.keep(file);
    const shard = join(settings.folder, file.sha256.slice(0, 2));
    assert.deepEqual([settings.folder, store.incoming, shard].map(modeOf), ['700', '700', '700']);
    assert.deepEqual([join(shard, file.sha256), join(settings.folder, 'annals-log')].map(modeOf), ['600', '600']);
  });

  it('may come to belong to another log while there are none', async () => {
    const store = openBlobStore({ kind: 'folder', folder: join(folder, 'empty') });
    clearIncoming(store.incoming);
    await store.prepare('annals/one');
    await store.prepare('annals/two');
    await store.keep(await receiveFile(store.incoming, piecesOf(randomBytes(10)), () => {}));
    await store.prepare('annals/two');
    await assert.rejects(store.prepare('annals/one'), BlobsRefusedError);
  });

  it('are not told to be missing when the disk fails', { skip: process.platform === 'win32' }, async () => {
    // A folder of its own: one of the files that others keep may be below `f0`.
    const folder = join(settings.folder, 'failing');
    const store = openBlobStore({ kind: 'folder', folder });
    const sha256 = 'f0'.repeat(32);
    mkdirSync(folder, { recursive: true });
    // Whatever it is that the disk says but "no such file".
    writeFileSync(join(folder, 'f0'), '');
    const isUnreachable = isUnavailable('unreachable', /ENOTDIR/);
    await assert.rejects(store.size(sha256), isUnreachable);
    await assert.rejects(store.open(sha256), isUnreachable);
    await assert.rejects(openBlobStore({ kind: 'folder', folder: join(folder, 'f0') }).prepare('annals/one'), {
      name: 'BlobsRefusedError',
    });
  });

  it('are refused when it is full, and nothing is left of them', { skip: disk.skip }, async () => {
    const store = openBlobStore({ kind: 'folder', folder: disk.folder });
    clearIncoming(store.incoming);
    await store.prepare('annals/one');
    const kept = randomBytes(600_000);
    await store.keep(await receiveFile(store.incoming, piecesOf(kept), () => {}));
    const isFull = isUnavailable('full', /no room/);
    await assert.rejects(
      receiveFile(store.incoming, piecesOf(randomBytes(600_000)), () => {}),
      isFull,
    );
    assert.deepEqual(readdirSync(store.incoming), []);
    // There is room again for one that fits.
    await store.keep(await receiveFile(store.incoming, piecesOf(randomBytes(200_000)), () => {}));
    assert.ok((await read(store, sha256Of(kept))).equals(kept));
  });
});

describe('receiving a file', () => {
  const incoming = join(folder, 'incoming');
  before(() => clearIncoming(incoming));

  it('hashes and counts it, whatever its pieces are, and shows each piece before it is written', async () => {
    const bytes = randomBytes(300_000);
    for (const size of [1000, 65_536, 300_000]) {
      const seen: Buffer[] = [];
      const file = await receiveFile(incoming, piecesOf(bytes, size), (chunk) => {
        seen.push(chunk);
      });
      assert.deepEqual([file.size, file.sha256], [bytes.length, sha256Of(bytes)]);
      assert.ok(readFileSync(file.path).equals(bytes));
      assert.ok(Buffer.concat(seen).equals(bytes));
      rmSync(file.path);
    }
  });

  it('leaves nothing when a piece is refused, and asks for no more of it', async () => {
    const source = Readable.from(piecesOf(randomBytes(1_000_000)));
    let size = 0;
    const refused = receiveFile(incoming, source, async (chunk) => {
      size += chunk.length;
      if (size > 200_000) throw new Error('too large');
    });
    await assert.rejects(refused, /^Error: too large$/);
    assert.ok(source.destroyed);
    assert.deepEqual(readdirSync(incoming), []);
  });

  it('leaves nothing when the source fails or ends too early, and throws its error', async () => {
    async function* failing() {
      yield randomBytes(100_000);
      throw Object.assign(new Error('aborted'), { code: 'ECONNRESET', syscall: 'read' });
    }
    await assert.rejects(
      receiveFile(incoming, failing(), () => {}),
      /^Error: aborted$/,
    );
    const destroyed = Readable.from(piecesOf(randomBytes(1_000_000)));
    const received = receiveFile(incoming, destroyed, () => {
      destroyed.destroy();
    });
    await assert.rejects(received, { code: 'ERR_STREAM_PREMATURE_CLOSE' });
    assert.deepEqual(readdirSync(incoming), []);
  });

  it('is refused for now while the folder is gone', async () => {
    const gone = receiveFile(join(incoming, 'gone'), piecesOf(randomBytes(10)), () => {});
    await assert.rejects(gone, { name: 'BlobsUnavailableError', reason: 'unreachable', message: /gone is gone/ });
  });

  it('begins in an empty folder, whatever a killed process has left', () => {
    writeFileSync(join(incoming, 'left'), 'x');
    mkdirSync(join(incoming, 'folder/in/it'), { recursive: true });
    clearIncoming(incoming);
    assert.deepEqual(readdirSync(incoming), []);
  });
});

async function* piecesOf(bytes: Buffer, size = 65_536): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function read(store: BlobStore, sha256: string, range?: { start: number; end: number }): Promise<Buffer> {
  return Buffer.concat(await (await store.open(sha256, range)).toArray());
}

/**
 * True if these bytes come; compared as they come, for a copy of all of them has the memory collected, which in a batch
 * is large.
 */
async function isRead(
  store: BlobStore,
  sha256: string,
  bytes: Buffer,
  range?: { start: number; end: number },
): Promise<boolean> {
  let at = 0;
  for await (const chunk of await store.open(sha256, range)) {
    if (!bytes.subarray(at, at + chunk.length).equals(chunk)) return false;
    at += chunk.length;
  }
  return at === bytes.length;
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function isUnavailable(reason: BlobsUnavailableError['reason'], message: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof BlobsUnavailableError && error.reason === reason && message.test(error.message);
}

/** How many files and connections the process has open; 0 on systems that do not tell. */
function descriptors(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0;
}

describe('texts that are kept for ever in a folder', () => {
  const kept = join(folder, 'anchored');
  const store = openBlobStore({ kind: 'folder', folder: kept });

  it('are not written over, and make the folder that of their log', async () => {
    await store.prepare('annals/one');
    await store.anchor('0001-ab', 'one\n');
    await assert.rejects(store.anchor('0001-ab', 'two\n'), BlobsRefusedError);
    assert.equal(readFileSync(join(kept, 'checkpoints/0001-ab'), 'utf8'), 'one\n');
    await assert.rejects(store.prepare('annals/two'), /holds the files of another log/);
  });
});

describeWithBucket('texts that are kept for ever in a bucket', () => {
  it('are the first ones of their names, also if several services come at once', async () => {
    const settings = { kind: 'bucket' as const, incoming: join(folder, 'rivals'), ...reach, bucket: name };
    const rivals = ['a\n', 'b\n', 'c\n'].map((text) => ({ text, store: openBlobStore(settings) }));
    const kept = await Promise.allSettled(rivals.map(({ store, text }) => store.anchor('0020-ab', text)));
    const first = rivals.filter((_, index) => kept[index]?.status === 'fulfilled');
    assert.equal(first.length, 1);
    for (const outcome of kept)
      if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof BlobsRefusedError);
    assert.ok(first[0]);
    const [found] = await Array.fromAsync(first[0].store.anchors('0020'));
    assert.equal(await found?.read(), first[0].text);
    for (const { store } of rivals) store.close();
  });
});

describeWithBucket('a new bucket that several logs take at once', () => {
  it('becomes that of one of them, and the others are refused', async () => {
    const settings = {
      kind: 'bucket' as const,
      incoming: join(folder, 'many'),
      ...reach,
      bucket: `annals-test-new-${randomBytes(8).toString('hex')}`,
    };
    const stores = Array.from({ length: 6 }, () => openBlobStore(settings));
    try {
      const outcomes = await Promise.allSettled(stores.map((store, index) => store.prepare(`annals/${index}`)));
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const outcome of outcomes)
        if (outcome.status === 'rejected') assert.match(String(outcome.reason), /holds the files of another log/);
    } finally {
      for (const store of stores) store.close();
      const client = openClient({ ...bucket, name: settings.bucket });
      await client.removeObject(settings.bucket, 'annals-log');
      await client.removeBucket(settings.bucket);
    }
  });
});

describeWithBucket('texts that are kept for ever in a bucket with Object Lock', () => {
  // The bucket is lost when its server ends: locked files cannot be removed.
  const locked = { ...reach, bucket: `annals-test-locked-${randomBytes(8).toString('hex')}` };
  const settings = { kind: 'bucket' as const, incoming: join(folder, 'locked'), ...locked, checkpointDays: 1 };
  const store = openBlobStore(settings);
  after(() => store.close());

  it('are found whatever is done to them, and cannot be removed', async () => {
    await store.prepare('annals/one');
    await store.anchor('0001-ab', 'one\n');
    await store.anchor('0002-ab', 'two\n');
    const client = openClient({ ...bucket, name: settings.bucket });
    await client.putObject(settings.bucket, 'checkpoints/0001-ab', 'altered\n');
    await client.removeObject(settings.bucket, 'checkpoints/0002-ab');
    const anchors = await Array.fromAsync(store.anchors());
    const texts = await Promise.all(anchors.map(async ({ name: one, read: text }) => `${one} ${await text()}`));
    assert.deepEqual(texts.sort(), ['0001-ab altered\n', '0001-ab one\n', '0002-ab two\n']);
    const denied: string[] = [];
    for await (const object of client.listObjects(settings.bucket, 'checkpoints/', true, { IncludeVersion: true })) {
      const { name: key, versionId } = object as { name: string; versionId: string };
      await client.removeObject(settings.bucket, key, { versionId }).catch(({ code }) => denied.push(`${key} ${code}`));
    }
    assert.deepEqual(denied, ['checkpoints/0001-ab AccessDenied', 'checkpoints/0002-ab AccessDenied']);
    assert.equal((await Array.fromAsync(store.anchors())).length, 2);
  });

  it('are refused if there is no such lock', async () => {
    const plain = openBlobStore({ ...settings, bucket: bucket.name });
    await plain.prepare('annals/one');
    await assert.rejects(plain.anchor('0003-ab', 'x\n'), /has no Object Lock: .*ANNALS_S3_CHECKPOINT_DAYS/);
    plain.close();
  });
});
