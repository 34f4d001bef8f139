import type { Readable } from 'node:stream';

/** A received file: complete and synced on the disk of this machine, but not yet in the store. */
export type ReceivedFile = { path: string; size: number; sha256: string };

/** The bytes `start` to `end` of a file, inclusive, counted from 0. */
export type ByteRange = { start: number; end: number };

/** A file in the store. `size` is in bytes. */
type StoredBlob = { sha256: string; size: number };

/** A store of uploaded files. The key of a file is the SHA-256 of its bytes, so equal files are stored once. */
export type BlobStore = {
  /** The folder on this machine in which files are received. */
  incoming: string;
  /**
   * Prepares the folder or bucket, and checks that it can be used.
   *
   * @param logId the log to which the files belong. The store of another log is refused, because garbage collection
   * would remove its files.
   * @throws BlobsRefusedError if it will never work as it is configured; BlobsUnavailableError if it may work later.
   */
  prepare: (logId: string) => Promise<void>;
  /**
   * Stores a received file. When it resolves, the file survives a power cut. A file that is already there is left
   * unchanged.
   */
  keep: (file: ReceivedFile) => Promise<void>;
  /** Reads a file, or a part of it. @throws BlobMissingError before the first byte. */
  open: (sha256: string, range?: ByteRange) => Promise<Readable>;
  /** The size of a file in bytes; null if the store does not have it. */
  size: (sha256: string) => Promise<number | null>;
  /** Every file, in no particular order. */
  list: () => AsyncIterable<StoredBlob>;
  /**
   * Removes a file, with every version that the store has of it; a missing file is not an error.
   *
   * @throws BlobHeldError if the store keeps some version of it.
   */
  remove: (sha256: string) => Promise<void>;
  /**
   * Stores a short text beside the files for ever: nothing replaces or removes it. When it resolves, the text survives
   * a power cut.
   *
   * @param name lower-case letters, digits and `-`.
   * @throws BlobsRefusedError if another text has this name.
   */
  anchor: (name: string, text: string) => Promise<void>;
  /**
   * The texts that {@link anchor} stored, in the order of their names, from the first name that is not before `from`.
   * If the store keeps versions, also texts that were replaced or hidden later.
   */
  anchors: (from?: string) => AsyncIterable<Anchor>;
  close: () => void;
};

/** A text that is stored for ever under a name. */
export type Anchor = { name: string; read: () => Promise<string> };

/** How to reach a store, as plain data for other threads. The settings of a bucket contain a secret. */
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
      /** True: the bucket is part of the path; false: part of the host name. */
      pathStyle: boolean;
      /** The days for which Object Lock keeps each anchored text; undefined: as the bucket is configured. */
      checkpointDays?: number;
      /** The number of bytes of log segments that stay on this machine; undefined: all. */
      localRetentionBytes?: number;
    };

/** Thrown if files cannot be stored or read now. Nothing was stored, and a later try may succeed. */
export class BlobsUnavailableError extends Error {
  override name = 'BlobsUnavailableError';
  /** `full`: no disk space is left. `unreachable`: the store does not answer, or answers wrongly. */
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

/** Thrown if a store does not remove a file or an older version of it. Other files are not affected. */
export class BlobHeldError extends BlobsRefusedError {
  override name = 'BlobHeldError';
  /** The time until which a lock keeps the file, in ISO 8601; null if it is not known. */
  readonly until: string | null;

  constructor(message: string, until: string | null) {
    super(message);
    this.until = until;
  }
}

/** Thrown if a file that should be in the store is missing. */
export class BlobMissingError extends Error {
  override name = 'BlobMissingError';

  constructor(sha256: string) {
    super(`the bytes with SHA-256 ${sha256} are missing`);
  }
}

/** True for a valid name of an anchored text. */
export function isAnchorName(name: string): boolean {
  return /^[a-z\d-]{1,200}$/.test(name);
}

/** True for the hexadecimal SHA-256 that names a file. */
export function isSha256(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}
