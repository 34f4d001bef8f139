import { hash } from 'node:crypto';
import type { Client } from 'minio';
import { type Anchor, type BlobStore, BlobsRefusedError, isAnchorName } from '../blobs.ts';
import { isMissingObject, isNoLock, isNoVersions, isTaken } from './errors.ts';
import { listVersions, type VersionPage, type VersionPlace } from './versions.ts';

type Options = {
  client: Client;
  bucket: string;
  checkpointDays: number | undefined;
  /** Begins what is said of the bucket. */
  what: string;
  /** Makes a call, and says what its failure means. */
  call: <T>(request: () => Promise<T>) => Promise<T>;
};

const folder = 'checkpoints/';

/** Texts that are kept for ever, as the objects of a folder of a bucket. */
export function bucketAnchors(options: Options): Pick<BlobStore, 'anchor' | 'anchors'> {
  const { client, bucket, checkpointDays, what, call } = options;

  async function put(name: string, text: string): Promise<void> {
    // With Object Lock, S3 wants the MD5 beside the SHA-256 that is signed.
    const headers = {
      'content-type': 'text/plain; charset=utf-8',
      'content-md5': hash('md5', text, 'base64'),
      // Of two that come at once, the server takes one; a server that does not know of it takes the later one.
      'if-none-match': '*',
      ...(checkpointDays && {
        'x-amz-object-lock-mode': 'COMPLIANCE',
        'x-amz-object-lock-retain-until-date': new Date(Date.now() + checkpointDays * 86_400_000).toISOString(),
      }),
    };
    if (await isThere(name, text)) return;
    const request = { method: 'PUT', bucketName: bucket, objectName: folder + name, headers };
    try {
      // As bytes: of a text, the client counts the characters.
      await client.makeRequestAsyncOmit(request, Buffer.from(text));
    } catch (error) {
      // Somebody else was first just now.
      if (isTaken(error) && (await isThere(name, text))) return;
      if (!checkpointDays || !isNoLock(error)) throw error;
      throw new BlobsRefusedError(
        `${what} has no Object Lock: it must have been made with it, or ANNALS_S3_CHECKPOINT_DAYS must not be set`,
      );
    }
  }

  /** Whether a text is kept under a name. @throws BlobsRefusedError when it is another one. */
  async function isThere(name: string, text: string): Promise<boolean> {
    const there = await read(folder + name, '').catch((error) => {
      if (isMissingObject(error)) return null;
      throw error;
    });
    if (there === null || there === text) return there === text;
    throw new BlobsRefusedError(`${what} has another text than what is to be kept as ${folder}${name}`);
  }

  async function* list(from: string): AsyncGenerator<Anchor> {
    let listing = versionsAfter;
    let next: VersionPlace | null = { key: folder + from, version: '' };
    while (next) {
      const place: VersionPlace = next;
      // Some servers know no versions, and some keys may not see them.
      const page: VersionPage | null = await call(() =>
        listing(place).catch((error) => {
          if (listing === namesAfter || !isNoVersions(error)) throw error;
          return null;
        }),
      );
      if (!page) {
        listing = namesAfter;
        continue;
      }
      for (const { name, versionId } of page.found) {
        const short = name.slice(folder.length);
        if (name.startsWith(folder) && isAnchorName(short))
          yield { name: short, read: () => call(() => read(name, versionId)) };
      }
      next = page.next;
    }
  }

  /** Also what another object was put over, and what a deletion hides: with Object Lock it is there still. */
  async function versionsAfter(place: VersionPlace): Promise<VersionPage> {
    const { found, next } = await listVersions({ client, bucket, what }, folder, place);
    return { found: found.filter(({ isMark }) => !isMark), next };
  }

  async function namesAfter({ key }: VersionPlace): Promise<VersionPage> {
    const { objects, isTruncated } = await client.listObjectsV2Query(bucket, folder, '', '', 1000, key);
    const found = objects.map(({ name = '' }) => ({ name, versionId: '', isMark: false }));
    const last = found.at(-1);
    return { found, next: isTruncated && last ? { key: last.name, version: '' } : null };
  }

  async function read(name: string, versionId: string): Promise<string> {
    const isVersion = versionId !== '' && versionId !== 'null';
    const response = await client.getObject(bucket, name, isVersion ? { versionId } : {});
    return Buffer.concat(await response.toArray()).toString();
  }

  return { anchor: (name, text) => call(() => put(name, text)), anchors: (from = '') => list(from) };
}
