import { open } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import type { ByteRange, ReceivedFile } from './blobs.ts';
import { isBucketThere, isMissingBucket, isMissingObject } from './bucket-errors.ts';
import type { Bucket } from './bucket-versions.ts';
import { onDisk } from './disk.ts';
import { notePassed } from './garbage.ts';

/** How a bucket is made where it is missing. */
type Making = { region: string; checkpointDays?: number | undefined };

/** The object that names the log whose files a bucket holds. */
export const marker = 'annals-log';

/** The name of a file's object. */
export function keyOf(sha256: string): string {
  return `${sha256.slice(0, 2)}/${sha256}`;
}

/** Begins to read an object. */
export async function readObject(
  { client, bucket }: Bucket,
  objectName: string,
  range?: ByteRange,
): Promise<IncomingMessage> {
  const headers = range ? { range: `bytes=${range.start}-${range.end}` } : {};
  const request = { method: 'GET', bucketName: bucket, objectName, headers };
  const response = await client.makeRequestAsync(request, '', [200, 206]);
  if (response.statusCode === (range ? 206 : 200)) return response;
  response.destroy();
  throw new Error(`it answered ${response.statusCode} to ${range ? 'a range of a file' : 'a whole file'}`);
}

/** The id of the log whose files a bucket holds; null for a new one. A missing bucket is made. */
export async function readMarker(place: Bucket & Making): Promise<string | null> {
  const { client, bucket, region, checkpointDays } = place;
  try {
    const response = await readObject(place, marker, { start: 0, end: 999 });
    return Buffer.concat(await response.toArray())
      .toString()
      .trim();
  } catch (error) {
    if (isMissingObject(error)) return null;
    if (!isMissingBucket(error)) throw error;
  }
  await client.makeBucket(bucket, region, checkpointDays ? { ObjectLocking: true } : {}).catch((error) => {
    if (!isBucketThere(error)) throw error;
  });
  return null;
}

/** The bytes of a file; null for one that the bucket does not have. */
export async function sizeOf({ client, bucket }: Bucket, sha256: string): Promise<number | null> {
  try {
    const { size } = await client.statObject(bucket, keyOf(sha256));
    return size;
  } catch (error) {
    if (isMissingObject(error)) return null;
    throw error;
  }
}

/** Sends a file, in one request. */
export async function sendFile(
  { client, bucket, region }: Bucket & Making,
  { path, size, sha256 }: ReceivedFile,
): Promise<void> {
  const file = await onDisk(open(path));
  const body = file
    .createReadStream({ highWaterMark: 64 * 1024 })
    .pause()
    .on('data', ({ length }) => notePassed(length));
  try {
    const headers = { 'content-length': size, 'content-type': 'application/octet-stream' };
    const request = { method: 'PUT', bucketName: bucket, objectName: keyOf(sha256), headers };
    const response = await client.makeRequestStreamAsync(request, body, sha256, [200], region);
    await finished(response.resume());
  } finally {
    // A file that was refused in the middle is not sent to its end.
    body.destroy();
    await file.close();
  }
}
