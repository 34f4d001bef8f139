import type { KeyAudit, KeyScope } from '../../config/model.ts';
import { apiKeyStream } from './catalogue.ts';
import { type Change, changeOf } from './log.ts';

/** The rights of an API key, which it keeps as long as it lives. */
export type KeyGrant = { scopes: readonly KeyScope[]; audit: readonly KeyAudit[] };

/** An API key to be made. `credential` names the hash of its secret in the vault. */
type NewKey = KeyGrant & { id: string; name: string; expiresAt: Date | null; credential: string };

/** A new secret of a key. Until `previousUntil` the previous secret is valid too; null: it ends at once. */
type NewSecret = { id: string; credential: string; previousUntil: Date | null };

/** A new key. Here and below, `version` is the version of the stream of keys: of two changes at once, one succeeds. */
export function decideKey({ id, name, scopes, audit, expiresAt, credential }: NewKey, version: number): Change {
  const kept = scopes.map(({ collections, globals, operations }) => ({
    collections: listOf(collections),
    globals: listOf(globals),
    operations: [...operations],
  }));
  const data = { id, name, scopes: kept, audit: [...audit], expiresAt: expiresAt?.toISOString() ?? null, credential };
  return changeOf(apiKeyStream, [{ type: 'apikey.created', data }], version);
}

/** A new secret of a key. */
export function decideKeyRotation({ id, credential, previousUntil }: NewSecret, version: number): Change {
  const data = { id, credential, previousUntil: previousUntil?.toISOString() ?? null };
  return changeOf(apiKeyStream, [{ type: 'apikey.rotated', data }], version);
}

/** The end of a key. */
export function decideKeyEnd(id: string, version: number): Change {
  return changeOf(apiKeyStream, [{ type: 'apikey.revoked', data: { id } }], version);
}

function listOf(slugs: readonly string[] | '*'): string[] | '*' {
  return slugs === '*' ? slugs : [...slugs];
}
