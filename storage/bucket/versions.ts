import type { Client } from 'minio';
import { BlobHeldError } from '../blobs.ts';
import { isDenied, isMissingObject, isNoVersions } from './errors.ts';

/** A bucket, with the client for its server; `what` names the bucket in messages. */
export type Bucket = { client: Client; bucket: string; what: string };

/** A version of an object, or a delete marker (`isMark`). `versionId` is empty if the server has no versions. */
type ObjectVersion = { name: string; versionId: string; isMark: boolean };

/** A part of a list; `next` is the place where the next part begins. */
export type VersionPage = { found: ObjectVersion[]; next: VersionPlace | null };
export type VersionPlace = { key: string; version: string };

/** A page of versions, as the client returns it. The client's own types are incomplete. */
type Listing = {
  objects: { name?: string; versionId?: string | number | null; isDeleteMarker?: boolean }[];
  isTruncated?: boolean | undefined;
  keyMarker?: string | undefined;
  versionIdMarker?: string | undefined;
};

/** All versions of the objects with a prefix, including replaced versions and versions that a deletion hides. */
export async function listVersions(
  { client, bucket }: Bucket,
  prefix: string,
  { key, version }: VersionPlace,
): Promise<VersionPage> {
  const { objects, isTruncated, keyMarker, versionIdMarker }: Listing = await client.listObjectsQuery(
    bucket,
    prefix,
    '',
    {
      Delimiter: '',
      MaxKeys: 1000,
      IncludeVersion: true,
      keyMarker: encodeURIComponent(key),
      versionIdMarker: encodeURIComponent(version),
    },
  );
  const found = objects.flatMap(({ name, versionId, isDeleteMarker }) => {
    return name ? [{ name, versionId: String(versionId ?? ''), isMark: isDeleteMarker === true }] : [];
  });
  const isMore = String(isTruncated) === 'true' && keyMarker !== undefined;
  return { found, next: isMore ? { key: keyMarker, version: versionIdMarker ?? '' } : null };
}

/**
 * Removes an object with all its versions: if the bucket keeps versions, a plain deletion would only hide it.
 *
 * @throws BlobHeldError if a version stays because it is locked, or because these keys may not see or remove versions.
 * All other versions are removed.
 */
export async function removeVersions(from: Bucket, key: string): Promise<void> {
  const { client, bucket, what } = from;
  const held: string[] = [];
  for (let place: VersionPlace | null = { key: '', version: '' }; place; ) {
    const page: VersionPage | null = await listVersions(from, key, place).catch((error) => {
      if (isNoVersions(error)) return null;
      throw error;
    });
    if (!page) return removeOnly(from, key);
    for (const { name, versionId, isMark } of page.found) {
      if (name !== key) continue;
      try {
        await client.removeObject(bucket, key, versionId === '' ? {} : { versionId });
      } catch (error) {
        if (isMissingObject(error)) continue;
        if (!isDenied(error)) throw error;
        // A delete marker has no bytes.
        if (!isMark) held.push(versionId);
      }
    }
    place = page.next;
  }
  const [first] = held;
  if (first === undefined) return;
  const until = await lockedUntil(from, key, first);
  throw new BlobHeldError(
    until === null
      ? `${what} does not remove a version of a file: a lock keeps it, or ANNALS_S3_ACCESS_KEY may not delete versions`
      : `${what} has locked a version of a file until ${until}`,
    until,
  );
}

/**
 * Removes an object on a server that does not list versions, or not for these keys. An object with versions must not
 * count as removed.
 */
async function removeOnly({ client, bucket, what }: Bucket, key: string): Promise<void> {
  const found = await client.statObject(bucket, key).catch((error) => {
    if (isMissingObject(error)) return null;
    throw error;
  });
  if (found?.versionId) {
    throw new BlobHeldError(
      `${what} keeps versions of its files, and ANNALS_S3_ACCESS_KEY may not list them: a deletion would only hide them`,
      null,
    );
  }
  await client.removeObject(bucket, key);
}

async function lockedUntil({ client, bucket }: Bucket, key: string, versionId: string): Promise<string | null> {
  try {
    const until: unknown = (await client.getObjectRetention(bucket, key, { versionId }))?.retainUntilDate;
    const time = typeof until === 'string' || until instanceof Date ? new Date(until) : null;
    return time && !Number.isNaN(time.getTime()) ? time.toISOString() : null;
  } catch {
    return null;
  }
}
