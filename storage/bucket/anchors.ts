import { hash } from 'node:crypto';
import type { Client } from 'minio';
import { type Anchor, type BlobStore, BlobsRefusedError, isAnchorName } from '../blobs.ts';
import { isMissingObject, isNoLock, isNoVersions, isTaken } from './errors.ts';
import { listVersions, type VersionPage, type VersionPlace } from './versions.ts';

/** A bucket, as the functions of this file need it. */
type Bucket = {
  client: Client;
  bucket: string;
  checkpointDays: number | undefined;
  /** The name of the bucket at the beginning of messages. */
  what: string;
  /** Makes a call, and turns its failure into an error of the store. */
  call: <T>(request: () => Promise<T>) => Promise<T>;
};

const folder = 'checkpoints/';

/** Stores texts for ever, as objects in a folder of a bucket. */
export function bucketAnchors(options: Bucket): Pick<BlobStore, 'anchor' | 'anchors'> {
  return {
    anchor: (name, text) => options.call(() => put(options, name, text)),
    anchors: (from = '') => list(options, from),
  };
}

async function put(options: Bucket, name: string, text: string): Promise<void> {
  const { client, bucket, checkpointDays, what } = options;
  // With Object Lock, S3 requires the MD5 beside the signed SHA-256.
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'content-md5': hash('md5', text, 'base64'),
    // Of two concurrent puts the server accepts one. A server that does not know this header keeps the later one.
    'if-none-match': '*',
    ...(checkpointDays && {
      'x-amz-object-lock-mode': 'COMPLIANCE',
      'x-amz-object-lock-retain-until-date': new Date(Date.now() + checkpointDays * 86_400_000).toISOString(),
    }),
  };
  if (await isThere(options, name, text)) return;
  const request = { method: 'PUT', bucketName: bucket, objectName: folder + name, headers };
  try {
    // The text is sent as bytes, because for a text the client would send the number of characters as its length.
    await client.makeRequestAsyncOmit(request, Buffer.from(text));
  } catch (error) {
    // Another process may have put the same text in the meantime.
    if (isTaken(error) && (await isThere(options, name, text))) return;
    if (!checkpointDays || !isNoLock(error)) throw error;
    throw new BlobsRefusedError(
      `${what} has no Object Lock: make it anew with Object Lock, or do not set ANNALS_S3_CHECKPOINT_DAYS`,
    );
  }
}

/** Whether the text is stored under the name already. @throws BlobsRefusedError if another text is. */
async function isThere(options: Bucket, name: string, text: string): Promise<boolean> {
  const there = await read(options, { name: folder + name, versionId: '' }).catch((error) => {
    if (isMissingObject(error)) return null;
    throw error;
  });
  if (there === null || there === text) return there === text;
  throw new BlobsRefusedError(`${options.what} already has another text as ${folder}${name}`);
}

async function* list(options: Bucket, from: string): AsyncGenerator<Anchor> {
  const { call } = options;
  let listing = versionsAfter;
  let next: VersionPlace | null = { key: folder + from, version: '' };
  while (next) {
    const place: VersionPlace = next;
    // Some servers have no versions, and some keys may not list them.
    const page: VersionPage | null = await call(() =>
      listing(options, place).catch((error) => {
        if (listing === namesAfter || !isNoVersions(error)) throw error;
        return null;
      }),
    );
    if (!page) {
      listing = namesAfter;
      continue;
    }
    for (const version of page.found) {
      const short = version.name.slice(folder.length);
      if (version.name.startsWith(folder) && isAnchorName(short))
        yield { name: short, read: () => call(() => read(options, version)) };
    }
    next = page.next;
  }
}

/** Includes versions that were replaced or that a deletion hides: with Object Lock they still exist. */
async function versionsAfter({ client, bucket, what }: Bucket, place: VersionPlace): Promise<VersionPage> {
  const { found, next } = await listVersions({ client, bucket, what }, folder, place);
  return { found: found.filter(({ isMark }) => !isMark), next };
}

async function namesAfter({ client, bucket }: Bucket, { key }: VersionPlace): Promise<VersionPage> {
  const { objects, isTruncated } = await client.listObjectsV2Query(bucket, folder, '', '', 1000, key);
  const found = objects.map(({ name = '' }) => ({ name, versionId: '', isMark: false }));
  const last = found.at(-1);
  return { found, next: isTruncated && last ? { key: last.name, version: '' } : null };
}

async function read(
  { client, bucket }: Bucket,
  { name, versionId }: { name: string; versionId: string },
): Promise<string> {
  const isVersion = versionId !== '' && versionId !== 'null';
  const response = await client.getObject(bucket, name, isVersion ? { versionId } : {});
  return Buffer.concat(await response.toArray()).toString();
}
