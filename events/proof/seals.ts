import { hash, timingSafeEqual } from 'node:crypto';
import { hasTable, type Sqlite } from '../../storage/sqlite.ts';

/**
 * The head of a log: its size in events, its root, and when the last event was recorded. `mac` seals it under the key
 * of a vault; null in the formats before 3.
 */
export type Head = { log: string; size: number; root: Buffer; recordedAt: string; mac: Buffer | null };

/**
 * The key with which a vault seals heads, and the logs that it knows. `sealed`: the ids of the logs that the vault has
 * sealed before; `known`: the ids of the logs that it has a key of, or was made with.
 */
export type Seals = {
  key: string;
  sealed: readonly string[];
  known: readonly string[];
  /** Whether the operator accepts a log that is not sealed with the key. */
  acceptsUnsealed?: boolean;
};

/** {@link Seals} as another process reads them while the vault is open; `key` is null if it was not made yet. */
export type KnownSeals = Pick<Seals, 'sealed' | 'known'> & { key: string | null };

/** The name of the secret in a vault with which heads are sealed: 32 bytes in base64url. */
export const sealSecret = 'log-head';

const domain = 'annals-head-v1\0';

/**
 * A key in the form of HMAC (RFC 2104, section 2): its block under the inner pad, and its block under the outer pad
 * with space for a digest.
 */
type SealKey = { inner: Buffer; outer: Buffer };

/** The block length of SHA-256 in bytes. */
const blockLength = 64;

/**
 * The MAC that seals a head: HMAC-SHA-256 over "annals-head-v1", a zero byte and the canonical JSON (RFC 8785) of the
 * head. It cannot be made without the key of the vault (docs/log-format.md).
 */
export function macOf({ inner, outer }: SealKey, { log, size, root, recordedAt }: Omit<Head, 'mac'>): Buffer {
  const text = JSON.stringify({ log, recordedAt, root: root.toString('hex'), size });
  // Two one-call hashes: createHmac makes an OpenSSL object for every commit, which costs several times as much.
  outer.write(hash('sha256', Buffer.concat([inner, Buffer.from(domain + text)]), 'hex'), blockLength, 'hex');
  return Buffer.from(hash('sha256', outer, 'hex'), 'hex');
}

/** The key of a vault for {@link macOf}, made once for all heads. @throws RangeError beyond 64 bytes. */
export function sealKeyOf(key: string): SealKey {
  const block = Buffer.alloc(blockLength);
  block.set(Buffer.from(key, 'base64url'));
  const padded = (pad: number) => block.map((byte) => byte ^ pad);
  return { inner: Buffer.from(padded(0x36)), outer: Buffer.concat([padded(0x5c)], blockLength + 32) };
}

/** Whether a head is sealed by this key. */
export function isSealed(key: string, head: Head): boolean {
  return head.mac?.length === 32 && timingSafeEqual(head.mac, macOf(sealKeyOf(key), head));
}

const table = 'CREATE TABLE IF NOT EXISTS sealed_logs (log TEXT PRIMARY KEY) STRICT';

/** Remembers which logs a vault has sealed. Otherwise a log of an older format would pass without a seal. */
export function openSealed(db: Sqlite) {
  db.exec(table);
  const insert = db.prepare('INSERT INTO sealed_logs VALUES (?) ON CONFLICT DO NOTHING');
  return {
    all: (): string[] => readSealed(db),
    add: (log: string): void => {
      insert.run(log);
    },
  };
}

/** The ids of the logs that a vault has sealed; a vault older than seals has none. */
export function readSealed(db: Sqlite): string[] {
  return hasTable(db, 'sealed_logs') ? (db.prepare('SELECT log FROM sealed_logs').pluck().all() as string[]) : [];
}

/** The ids of the logs that a vault has a key of, or was made with. Vaults older than seals have them too. */
export function readKnown(db: Sqlite): string[] {
  const ids = [
    ...(hasTable(db, 'log_keys') ? db.prepare('SELECT log FROM log_keys').pluck().all() : []),
    ...(hasTable(db, 'log') ? db.prepare('SELECT id FROM log').pluck().all() : []),
  ] as string[];
  return [...new Set(ids)];
}
