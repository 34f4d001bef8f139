import type { KeyAudit, KeyScope } from '../../config/model.ts';
import type { Json } from '../../config/schema.ts';
import type { KeyGrant } from '../../events/facts/api-keys.ts';
import { apiKeyStream } from '../../events/facts/catalogue.ts';
import type { Actor } from '../../events/facts/envelope.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import type { Sqlite } from '../../storage/sqlite.ts';

/** The table of the API keys that were made at run time. Revoked keys stay, for events name them for ever. */
export const apiKeyTable = 'api_keys';

/**
 * An API key. Times are milliseconds since the epoch. `credential` names its secret in the vault, and is null once the
 * key is revoked. `previous` names the former secret, which is valid until `previousUntil`.
 */
export type ApiKeyRecord = KeyGrant & {
  id: string;
  name: string;
  createdAt: number;
  createdBy: Actor;
  /** The time may be past. */
  expiresAt: number | null;
  credential: string | null;
  previous: string | null;
  previousUntil: number | null;
  isRevoked: boolean;
};

/** The part of a key that each request with the key needs. */
export type KeyState = Pick<ApiKeyRecord, 'credential' | 'previous' | 'previousUntil' | 'expiresAt'>;

/**
 * Makes the table in an empty file. `version` is the version of the stream of keys at the newest event about the key.
 */
export function createApiKeyTable(db: Sqlite): void {
  db.exec(`
    CREATE TABLE ${apiKeyTable} (
      id TEXT PRIMARY KEY, name TEXT NOT NULL, scopes TEXT NOT NULL, audit TEXT NOT NULL, created_at INTEGER NOT NULL,
      created_by TEXT NOT NULL, expires_at INTEGER, credential TEXT, previous TEXT, previous_until INTEGER,
      is_revoked INTEGER NOT NULL, version INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `);
}

export type ApiKeyFold = ReturnType<typeof openApiKeyFold>;

/** Folds events into the table of API keys, one by one. */
export function openApiKeyFold(db: Sqlite) {
  const insert = db.prepare(
    `INSERT INTO ${apiKeyTable} VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, 0, ?) ON CONFLICT (id)
     DO UPDATE SET version = excluded.version`,
  );
  // In an UPDATE, the values on the right are the former ones.
  const rotate = db.prepare(
    `UPDATE ${apiKeyTable}
     SET previous = CASE WHEN :until IS NULL THEN NULL ELSE credential END, previous_until = :until,
       credential = :credential, version = :version
     WHERE id = :id AND is_revoked = 0`,
  );
  const revoke = db.prepare(
    `UPDATE ${apiKeyTable}
     SET credential = NULL, previous = NULL, previous_until = NULL, is_revoked = 1, version = :version
     WHERE id = :id`,
  );

  /** Applies one event. Must be called for every event of the log, in order. */
  function apply({ header, data }: RecordedEvent): void {
    if (header.stream !== apiKeyStream || data === null) return;
    const { type, version, recordedAt, actor } = header;
    const id = String(data.id);
    if (type === 'apikey.created') {
      const rights = [JSON.stringify(data.scopes), JSON.stringify(data.audit)];
      const made = [Date.parse(recordedAt), actorText(actor)];
      insert.run(id, String(data.name), ...rights, ...made, timeOf(data.expiresAt), String(data.credential), version);
    }
    if (type === 'apikey.rotated') {
      rotate.run({ id, credential: String(data.credential), until: timeOf(data.previousUntil), version });
    }
    if (type === 'apikey.revoked') revoke.run({ id, version });
  }

  return { apply };
}

export type ApiKeys = ReturnType<typeof openApiKeys>;

type ApiKeyRow = Omit<ApiKeyRecord, 'scopes' | 'audit' | 'createdBy' | 'isRevoked'> & {
  scopes: string;
  audit: string;
  createdBy: string;
  isRevoked: number;
};

const columns = `id, name, scopes, audit, created_at AS createdAt, created_by AS createdBy, expires_at AS expiresAt, credential,
  previous, previous_until AS previousUntil, is_revoked AS isRevoked`;

/** Reads what the log says about API keys. */
export function openApiKeys(db: Sqlite) {
  const select = db.prepare<[id: string], ApiKeyRow>(`SELECT ${columns} FROM ${apiKeyTable} WHERE id = ?`);
  const selectState = db.prepare<[id: string], KeyState>(
    `SELECT credential, previous, previous_until AS previousUntil, expires_at AS expiresAt FROM ${apiKeyTable} WHERE id = ?`,
  );
  const selectAll = db.prepare<[], ApiKeyRow>(
    `SELECT ${columns} FROM ${apiKeyTable} WHERE is_revoked = 0 ORDER BY created_at, id`,
  );
  const selectPage = db.prepare<[limit: number, skipped: number], ApiKeyRow>(
    `SELECT ${columns} FROM ${apiKeyTable} WHERE is_revoked = 0 ORDER BY created_at, id LIMIT ? OFFSET ?`,
  );
  const selectCount = db.prepare<[], number>(`SELECT count(*) FROM ${apiKeyTable} WHERE is_revoked = 0`).pluck();
  const selectVersion = db.prepare<[], number>(`SELECT coalesce(max(version), 0) FROM ${apiKeyTable}`).pluck();

  /** Both reads see the same state. */
  const pageOf = db.transaction((limit: number, skipped: number) => ({
    rows: selectPage.all(limit, skipped),
    total: selectCount.get() ?? 0,
  }));

  return {
    /** A key; a revoked key too, for its name. */
    find(id: string): ApiKeyRecord | null {
      const row = select.get(id);
      return row ? recordOf(row) : null;
    },
    /** Each request with a key asks. */
    state: (id: string): KeyState | null => selectState.get(id) ?? null,
    /** The keys that are not revoked, oldest first. */
    all: (): ApiKeyRecord[] => selectAll.all().map(recordOf),
    /** A page of these keys, and their number. */
    page({ limit, page }: { limit: number; page: number }): { found: ApiKeyRecord[]; total: number } {
      const { rows, total } = pageOf(limit, (page - 1) * limit);
      return { found: rows.map(recordOf), total };
    },
    /** The version of the stream of keys, as far as it is in the table. */
    version: (): number => selectVersion.get() ?? 0,
  };
}

/** Gives the same text for an actor of a command and for an actor from the log, whose members have another order. */
function actorText({ type, id }: Actor): string {
  return JSON.stringify({ type, id });
}

function recordOf({ scopes, audit, createdBy, isRevoked, ...row }: ApiKeyRow): ApiKeyRecord {
  return {
    ...row,
    scopes: JSON.parse(scopes) as KeyScope[],
    audit: JSON.parse(audit) as KeyAudit[],
    createdBy: JSON.parse(createdBy) as Actor,
    isRevoked: isRevoked === 1,
  };
}

function timeOf(value: Json | undefined): number | null {
  return typeof value === 'string' ? Date.parse(value) : null;
}
