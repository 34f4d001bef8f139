import { open } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import type { ByteRange, ReceivedFile } from '../blobs.ts';
import { onDisk } from '../disk.ts';
import { notePassed } from '../garbage.ts';
import type { ConnectedBucket } from './connection.ts';

type BucketAddress = Pick<ConnectedBucket, 'client' | 'bucket' | 'region'>;

/** Starts to read an object. */
export async function readObject(
  { client, bucket }: Pick<BucketAddress, 'client' | 'bucket'>,
  objectName: string,
  range?: ByteRange,
): Promise<IncomingMessage> {
  const headers = range ? { range: `bytes=${range.start}-${range.end}` } : {};
  const request = { method: 'GET', bucketName: bucket, objectName, headers };
  const response = await client.makeRequestAsync(request, '', [200, 206]);
  if (response.statusCode === (range ? 206 : 200)) return response;
  response.destroy();
  throw new Error(`it answered ${response.statusCode} to ${range ? 'a range of an object' : 'a whole object'}`);
}

/** Sends a file in a single request that is signed with its SHA-256. */
export async function sendObject(
  { client, bucket, region }: BucketAddress,
  objectName: string,
  { path, size, sha256 }: ReceivedFile,
): Promise<void> {
  const file = await onDisk(open(path));
  const body = file
    .createReadStream({ highWaterMark: 64 * 1024 })
    .pause()
    .on('data', ({ length }) => notePassed(length));
  try {
    const headers = { 'content-length': size, 'content-type': 'application/octet-stream' };
    const request = { method: 'PUT', bucketName: bucket, objectName, headers };
    const response = await client.makeRequestStreamAsync(request, body, sha256, [200], region);
    await finished(response.resume());
  } finally {
    // If the server refused the file half-way, the rest is not sent.
    body.destroy();
    await file.close();
  }
}
