import { BlobsUnavailableError } from '../blobs.ts';
import type { ConnectedBucket } from './connection.ts';
import { isMissingObject, isTaken } from './errors.ts';
import { readObject } from './objects.ts';

/** The duration of a lease, and the interval of its renewals, in milliseconds. */
export const holding = { lease: 24 * 3_600_000, renewal: 3_600_000 };

/** The object of a lease. `age` is the time since its last change in milliseconds, by the clock of the server. */
type LeaseObject = { text: string; etag: string | undefined; modified: string; age: number };

type RequestHeaders = Record<string, string>;

/**
 * Takes or renews the lease that the object `name` represents: of several data directories with the same log, only one
 * at a time may change the objects of the log. All times are by the clock of the server, because the clocks of two
 * machines differ.
 *
 * @param holder the name of a data directory, without a line break.
 * @throws BlobsUnavailableError if another directory has taken or renewed the lease within a day; the errors of calls.
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

/** False if another directory was first. A server that does not know conditional writes keeps the later of two. */
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
    `${what} is in use by another data directory of this log, which took or renewed the lease at ${found?.modified ?? 'this moment'}, and only one may ` +
      `change the segments: stop the other service, or give one of the two another ANNALS_S3_BUCKET; if the other directory is gone for good, remove the object ${name}`,
  );
}
