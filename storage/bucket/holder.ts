import { BlobsUnavailableError } from '../blobs.ts';
import type { ConnectedBucket } from './connection.ts';
import { isMissingObject, isTaken } from './errors.ts';
import { readObject } from './objects.ts';

/** How long a bucket stays with a holder that says nothing, and how often it says so, in milliseconds. */
export const holding = { lease: 24 * 3_600_000, renewal: 3_600_000 };

/**
 * The text of an object, its `etag`, since when it is there, and for how many milliseconds by the clock of the server.
 */
type Found = { text: string; etag: string | undefined; modified: string; age: number };

type RequestHeaders = Record<string, string>;

/**
 * Takes what the object `name` stands for, or keeps it: of several data directories that have the same log, only one at
 * a time may change the objects beside it. By the clock of the server alone, for those of two machines differ.
 *
 * @param holder names a data directory, without a line break.
 * @throws BlobsUnavailableError where another one has said within a day that it holds it; and what a call throws.
 */
export async function holdBucket(place: ConnectedBucket, name: string, holder: string): Promise<void> {
  const { call } = place;
  const found = await call(() => find(place, name));
  if (found && found.text !== holder && found.age < holding.lease) throw heldBy(place, name, found);
  const conditions = found ? etagsOf(found).map((etag) => ({ 'if-match': etag })) : [{ 'if-none-match': '*' }];
  for (const headers of conditions) if (await call(() => put(place, name, holder, headers))) break;
  const now = await call(() => find(place, name));
  if (now?.text !== holder) throw heldBy(place, name, now);
}

/** Some servers compare without the quotes that they give, and find no match with them. */
function etagsOf({ etag = '' }: Found): string[] {
  return [etag, etag.replaceAll('"', '')];
}

/**
 * False where another one was first. Of two that come at once the server takes one; one that knows no conditions, the
 * later one.
 */
async function put({ client, bucket }: ConnectedBucket, objectName: string, text: string, headers: RequestHeaders) {
  try {
    await client.makeRequestAsyncOmit({ method: 'PUT', bucketName: bucket, objectName, headers }, text);
    return true;
  } catch (error) {
    if (isTaken(error)) return false;
    throw error;
  }
}

async function find(place: ConnectedBucket, name: string): Promise<Found | null> {
  try {
    const response = await readObject(place, name);
    const { date, etag, 'last-modified': modified = '' } = response.headers;
    const text = Buffer.concat(await response.toArray()).toString();
    return { text, etag, modified, age: Date.parse(date ?? '') - Date.parse(modified) || 0 };
  } catch (error) {
    if (isMissingObject(error)) return null;
    throw error;
  }
}

function heldBy({ what }: ConnectedBucket, name: string, found: Found | null): BlobsUnavailableError {
  return new BlobsUnavailableError(
    'unreachable',
    `${what} is in use by another data directory of this log, which said so at ${found?.modified ?? 'this moment'}, and only one may ` +
      `change its segments: stop the other service, or give one of them another ANNALS_S3_BUCKET; where the other one is gone for good, remove the object ${name}`,
  );
}
