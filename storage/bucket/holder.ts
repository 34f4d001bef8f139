import { BlobsUnavailableError } from '../blobs.ts';
import type { ConnectedBucket } from './connection.ts';
import { isMissingObject, isTaken } from './errors.ts';
import { readObject } from './objects.ts';

/** How long a lease lasts, and how often it is renewed, in milliseconds. */
export const holding = { lease: 24 * 3_600_000, renewal: 3_600_000 };

/** An object. `age` is the milliseconds since it was modified, by the clock of the server. */
type LeaseObject = { text: string; etag: string | undefined; modified: string; age: number };

type RequestHeaders = Record<string, string>;

/**
 * Takes or renews the lease that the object `name` stands for: of several data directories that have the same log, only
 * one at a time may change the objects of the log. Times are by the clock of the server alone, since the clocks of two
 * machines differ.
 *
 * @param holder the name of a data directory, without a line break.
 * @throws BlobsUnavailableError if another directory has taken or renewed the lease within a day; and what a call
 *   throws.
 */
export async function holdBucket(bucket: ConnectedBucket, name: string, holder: string): Promise<void> {
  const { call } = bucket;
  const found = await call(() => find(bucket, name));
  if (found && found.text !== holder && found.age < holding.lease) throw heldBy(bucket, name, found);
  const conditions = found ? etagsOf(found).map((etag) => ({ 'if-match': etag })) : [{ 'if-none-match': '*' }];
  for (const headers of conditions) if (await call(() => put(bucket, holder, { objectName: name, headers }))) break;
  const now = await call(() => find(bucket, name));
  if (now?.text !== holder) throw heldBy(bucket, name, now);
}

/** With and without quotes: some servers answer with quotes, and compare without. */
function etagsOf({ etag = '' }: LeaseObject): string[] {
  return [etag, etag.replaceAll('"', '')];
}

/** False if another directory was first. A server that does not know conditional writes takes the later of two. */
async function put(
  { client, bucket }: ConnectedBucket,
  text: string,
  to: { objectName: string; headers: RequestHeaders },
) {
  try {
    await client.makeRequestAsyncOmit({ method: 'PUT', bucketName: bucket, ...to }, text);
    return true;
  } catch (error) {
    if (isTaken(error)) return false;
    throw error;
  }
}

async function find(bucket: ConnectedBucket, name: string): Promise<LeaseObject | null> {
  try {
    const response = await readObject(bucket, name);
    const { date, etag, 'last-modified': modified = '' } = response.headers;
    const text = Buffer.concat(await response.toArray()).toString();
    return { text, etag, modified, age: Date.parse(date ?? '') - Date.parse(modified) || 0 };
  } catch (error) {
    if (isMissingObject(error)) return null;
    throw error;
  }
}

function heldBy({ what }: ConnectedBucket, name: string, found: LeaseObject | null): BlobsUnavailableError {
  return new BlobsUnavailableError(
    'unreachable',
    `${what} is in use by another data directory of this log, which said so at ${found?.modified ?? 'this moment'}, and only one may ` +
      `change its segments: stop the other service, or give one of them another ANNALS_S3_BUCKET; where the other one is gone for good, remove the object ${name}`,
  );
}
