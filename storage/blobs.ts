import type { Readable } from 'node:stream';

/** A file on its way in: whole and safe on the disk of this machine, not yet kept. */
export type ReceivedFile = { path: string; size: number; sha256: string };

/** Bytes `start` to `end` of a file, both counted from 0 and part of it. */
export type ByteRange = { start: number; end: number };

/** A file that is kept. `size` is bytes. */
type StoredBlob = { sha256: string; size: number };

/** A store of uploaded bytes. The key of a file is the SHA-256 of its bytes, so the same bytes are kept once. */
export type BlobStore = {
  /** The folder of this machine in which files are received. */
  incoming: string;
  /**
   * Prepares the folder or bucket, and checks that it can be used.
   *
   * @param logId the log whose files they are: the store of another log is refused, since garbage collection would
   *   remove its files.
   * @throws BlobsRefusedError if it will never work as it is configured; BlobsUnavailableError if it may work later.
   */
  prepare: (logId: string) => Promise<void>;
  /**
   * Keeps the bytes of a received file; when it resolves they survive a power cut. Bytes that are there are left alone.
   */
  keep: (file: ReceivedFile) => Promise<void>;
  /** Reads a file, or a part of it. @throws BlobMissingError before the first byte. */
  open: (sha256: string, range?: ByteRange) => Promise<Readable>;
  /** The size of a file in bytes; null when it is not there. */
  size: (sha256: string) => Promise<number | null>;
  /** Every file, in no order. */
  list: () => AsyncIterable<StoredBlob>;
  /**
   * Removes a file, with every version that the store has of it; a missing file is not an error.
   *
   * @throws BlobHeldError when something of it stays, because the store does not let go of it.
   */
  remove: (sha256: string) => Promise<void>;
  /**
   * Keeps a short text beside the files, for ever: nothing replaces or removes it. When it resolves it survives a power
   * cut.
   *
   * @param name lower-case letters, digits and `-`.
   * @throws BlobsRefusedError when another text has this name.
   */
  anchor: (name: string, text: string) => Promise<void>;
  /**
   * The texts that {@link anchor} kept, by their names, from the first name that is not before `from`. If the store
   * keeps versions, also the texts that were replaced or hidden later.
   */
  anchors: (from?: string) => AsyncIterable<Anchor>;
  close: () => void;
};

/** A text that is kept for ever, found by its name. */
export type Anchor = { name: string; read: () => Promise<string> };

/** How to reach a store; it can be sent to another thread. A bucket's holds a secret. */
export type BlobSettings =
  | { kind: 'folder'; folder: string }
  | {
      kind: 'bucket';
      /** The folder in which files are received. */
      incoming: string;
      /** Like `https://s3.example.org:9000`, without a path. */
      endpoint: string;
      bucket: string;
      region: string;
      accessKey: string;
      secretKey: string;
      /** True: the bucket is part of the path; false: of the host's name. */
      pathStyle: boolean;
      /** The days for which Object Lock keeps each anchored text; undefined: as the bucket is configured. */
      checkpointDays?: number;
      /** The bytes of segments of the log that stay on this machine; undefined: all. */
      localRetentionBytes?: number;
    };

/** Thrown when files cannot be kept or read now: nothing was kept, and it may work later. */
export class BlobsUnavailableError extends Error {
  override name = 'BlobsUnavailableError';
  /** `full`: no disk space is left. `unreachable`: the store does not answer, or not as it should. */
  readonly reason: 'full' | 'unreachable';

  constructor(reason: 'full' | 'unreachable', message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Thrown if a store will never work as it is configured; the message is one line for the operator, without secrets. */
export class BlobsRefusedError extends Error {
  override name = 'BlobsRefusedError';
}

/**
 * Thrown when a store does not let go of a file, of which an older version counts as well. The others are not
 * concerned.
 */
export class BlobHeldError extends BlobsRefusedError {
  override name = 'BlobHeldError';
  /** Until when a lock holds it, ISO 8601; null when that is not known. */
  readonly until: string | null;

  constructor(message: string, until: string | null) {
    super(message);
    this.until = until;
  }
}

/** Thrown if a file is missing that should be in the store. */
export class BlobMissingError extends Error {
  override name = 'BlobMissingError';

  constructor(sha256: string) {
    super(`the bytes with SHA-256 ${sha256} are missing`);
  }
}

/** True for what an anchored text can be named. */
export function isAnchorName(name: string): boolean {
  return /^[a-z\d-]{1,200}$/.test(name);
}

/** True for the hexadecimal SHA-256 that names a file. */
export function isSha256(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}
