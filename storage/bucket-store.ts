import type { BlobSettings, BlobStore } from './blobs.ts';

/** Keeps files in a bucket of S3, each under its SHA-256. */
export function openBucketStore(_settings: Extract<BlobSettings, { kind: 'bucket' }>): BlobStore {
  throw new Error('uploads cannot be kept in a bucket yet');
}
