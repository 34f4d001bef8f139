import type { Operation } from '../../../config/model.ts';
import { keyRouteOf, keyRoutes } from '../../../server/callers/key-routes.ts';
import type { ApiOperation } from '../../../server/openapi/operation.ts';
import type { Route } from './routes.ts';

/** Parts of the history, and the right to erase. */
export type AuditPart = 'headers' | 'payloads' | 'export' | 'erase';

/** The one right of a key, or what a route needs of one. */
export type Grant = { right: Operation | 'draft'; kind: 'collection' | 'global'; slug: string } | { audit: AuditPart };

/**
 * Any key passes, whatever it may do, or none does, with why and how it is refused; else one of these lists, and all in
 * it.
 */
export type Need = 'any' | { never: string; status: 400 | 401 | 403 | 404 } | { oneOf: readonly (readonly Grant[])[] };

export const auditParts: readonly AuditPart[] = ['headers', 'payloads', 'export', 'erase'];

/** The right by which a payload is shown: to read its document. */
const readsAll: Grant = { right: 'read', kind: 'collection', slug: '*' };

/** The part of the history that each route of auditors needs. */
const auditNeeds: Record<string, AuditPart> = {
  audit_checkpoint: 'headers',
  audit_consistencyProof: 'headers',
  audit_erasures: 'headers',
  audit_erasure: 'headers',
  audit_events: 'headers',
  audit_feed: 'headers',
  audit_signingKeys: 'headers',
  audit_log: 'headers',
  audit_stamps: 'headers',
  audit_inclusionProof: 'headers',
  audit_tile: 'headers',
  audit_documentHistory: 'headers',
  audit_globalHistory: 'headers',
  audit_accountHistory: 'headers',
  audit_invitationHistory: 'headers',
  audit_export: 'export',
  audit_globalBundle: 'payloads',
  audit_documentBundle: 'payloads',
  audit_accountBundle: 'payloads',
  audit_globalBlame: 'payloads',
  audit_documentBlame: 'payloads',
  audit_globalDiff: 'payloads',
  audit_documentDiff: 'payloads',
  audit_globalVersion: 'payloads',
  audit_documentVersion: 'payloads',
  audit_accountVersion: 'payloads',
  audit_invitationVersion: 'payloads',
  audit_globalAccess: 'payloads',
  audit_documentAccess: 'payloads',
  audit_accountAccess: 'payloads',
  audit_invitationAccess: 'payloads',
  undoBatch: 'payloads',
};

/** Routes for callers with any credential: their declaration does not name the scope that a key needs. */
const knownNeeds: Record<string, Need> = {
  // These answers leave out what is outside the scopes.
  readCounts: 'any',
  readSchemas: 'any',
  search: 'any',
  readBatch: 'any',
  listAllTrash: 'any',
  listReviews: 'any',
  listPreviewTokens: { never: 'no key uses tokens of views', status: 403 },
  revokePreviewToken: { never: 'no key uses tokens of views', status: 403 },
  readOpenApi: { never: 'it needs read of all collections and globals', status: 403 },
  audit_openApi: { oneOf: auditParts.map((audit) => [{ audit }]) },
  createPreviewToken: { oneOf: [[{ right: 'update', kind: 'collection', slug: 'posts' }]] },
};

/** Kinds that need more than the right that they declare. */
const alsoNeeded: Record<string, (slug: string) => readonly Grant[]> = {
  restore: () => [{ audit: 'payloads' }, readsAll],
  restoreGlobal: () => [{ audit: 'payloads' }, readsAll],
  // The call that is undone has created posts.
  undoBatch: () => [{ right: 'delete', kind: 'collection', slug: 'posts' }],
  refuseReview: (slug) => [{ right: 'draft', kind: 'collection', slug }],
  refuseReviewGlobal: (slug) => [{ right: 'draft', kind: 'global', slug }],
  listTrash: (slug) => (['read', 'delete'] as const).map((right) => ({ right, kind: 'collection', slug })),
};

/** The rights that a route needs of an API key that was made, by its declaration. */
export function keyNeed(route: Route): Need {
  const { name, operation, kind } = route;
  const declared = keyRoutes[keyRouteOf(route)];
  if (!operation) return hiddenNeed(route);
  const { caller, id } = operation;
  switch (caller.kind) {
    case 'anybody':
      return 'any';
    case 'user':
      return { never: 'it needs a user', status: 401 };
    case 'manager':
      return { never: 'no key manages keys', status: 403 };
    case 'releaser':
      return { never: 'no key uses releases', status: 403 };
    case 'eraser':
      return { oneOf: [[{ audit: 'erase' }, { right: 'delete', kind: 'collection', slug: 'posts' }]] };
    case 'auditor': {
      const audit = auditNeeds[id] ?? missing(name);
      const also = alsoNeeded[id]?.('') ?? [];
      return { oneOf: [[{ audit }, ...(audit === 'payloads' ? [readsAll] : []), ...also]] };
    }
    case 'known':
      return knownNeeds[id] ?? missing(name);
    case 'admitted': {
      const { target, right } = caller;
      if (target.kind === 'collection' && target.auth && !target.auth.useAPIKey)
        return { never: 'its accounts are closed to keys', status: 403 };
      if (declared !== 'scopes') missing(name);
      const also = alsoNeeded[kind]?.(target.slug) ?? [];
      return { oneOf: [[{ right: operationOf(right), kind: target.kind, slug: target.slug }, ...also]] };
    }
  }
}

/** The operation of scopes that holds a right. */
function operationOf(right: Extract<ApiOperation['caller'], { kind: 'admitted' }>['right']): Operation | 'draft' {
  if (right === 'publish') return 'update';
  return right === 'readDrafts' ? 'draft' : right;
}

/** The need of a route that no document describes. */
function hiddenNeed(route: Route): Need {
  const declared = keyRoutes[keyRouteOf(route)];
  // Without an entry, it looks at no credential: a page or a file.
  if (declared === undefined || declared === 'nothing') return 'any';
  if (declared === 'user') return { never: 'it is for the operator', status: 404 };
  if (/^POST \/api\/collections\/files\/bulk/.test(route.name))
    return { never: 'files are written one by one', status: 400 };
  return missing(route.name);
}

function missing(name: string): never {
  throw new Error(`${name}: test/access/barrage/scopes.ts does not know what it needs of an API key`);
}
