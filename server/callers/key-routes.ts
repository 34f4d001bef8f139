import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';

/** The rights that decide on a route, for an API key that was made at run time. */
type KeyRoute =
  /** The scopes of the key, by the operation of the route. */
  | 'scopes'
  /** The parts of the history that the key has; for payloads its scopes too. */
  | 'audit'
  /** The scopes of the key: the answer leaves out the rest, or is refused. */
  | 'described'
  /** None: the route is for everybody, or its token alone decides. */
  | 'nothing'
  /** A user or the operator is needed; a key is neither. */
  | 'user'
  /** The route manages keys, which such a key may never do. */
  | 'keys'
  /** The route is about releases, which publish for many documents at once, or tokens: such a key may use neither. */
  | 'releases';

/** Every route that looks at credentials, by its method and path: `*` stands for a slug. Others are refused. */
export const keyRoutes: Readonly<Record<string, KeyRoute>> = {
  'GET /api/collections/*': 'scopes',
  'POST /api/collections/*': 'scopes',
  'GET /api/collections/*/{id}': 'scopes',
  'PATCH /api/collections/*/{id}': 'scopes',
  'DELETE /api/collections/*/{id}': 'scopes',
  'POST /api/collections/*/{id}/restore': 'scopes',
  'POST /api/collections/*/{id}/publish': 'scopes',
  'POST /api/collections/*/{id}/unpublish': 'scopes',
  'POST /api/collections/*/{id}/review': 'scopes',
  'DELETE /api/collections/*/{id}/review': 'scopes',
  'POST /api/collections/*/{id}/review/refuse': 'scopes',
  'POST /api/collections/*/bulk/publish': 'scopes',
  'POST /api/collections/*/bulk/unpublish': 'scopes',
  'POST /api/collections/*/bulk/discard': 'scopes',
  'POST /api/collections/*/{id}/discard': 'scopes',
  'GET /api/collections/*/{id}/account': 'scopes',
  'POST /api/collections/*/{id}/unlock': 'scopes',
  'DELETE /api/collections/*/{id}/sessions/{sid}': 'scopes',
  'GET /api/collections/*/{id}/references': 'scopes',
  'GET /api/collections/*/trash': 'scopes',
  'GET /api/trash': 'scopes',
  'GET /api/reviews': 'scopes',
  'GET /api/collections/*/aggregate': 'scopes',
  'GET /api/collections/*/distinct': 'scopes',
  'GET /api/collections/*/count': 'scopes',
  'POST /api/collections/*/bulk': 'scopes',
  'POST /api/collections/*/bulk/update': 'scopes',
  'POST /api/collections/*/bulk/delete': 'scopes',
  'GET /api/counts': 'scopes',
  'GET /api/globals/*': 'scopes',
  'PATCH /api/globals/*': 'scopes',
  'POST /api/globals/*/restore': 'scopes',
  'POST /api/globals/*/publish': 'scopes',
  'POST /api/globals/*/review': 'scopes',
  'DELETE /api/globals/*/review': 'scopes',
  'POST /api/globals/*/review/refuse': 'scopes',
  'POST /api/globals/*/discard': 'scopes',
  'GET /api/media/*/{id}/{filename}': 'scopes',
  'POST /api/preview-token': 'scopes',
  'GET /api/preview-data': 'nothing',
  'GET /api/preview-tokens': 'releases',
  'DELETE /api/preview-tokens/{id}': 'releases',
  'GET /api/search': 'scopes',
  'GET /api/batches/{batch}': 'scopes',
  'POST /api/batches/{batch}/undo': 'audit',
  'GET /api/audit/checkpoint': 'audit',
  'GET /api/audit/consistency': 'audit',
  'GET /api/audit/erasures': 'audit',
  'POST /api/audit/erasures': 'audit',
  'GET /api/audit/erasures/{position}': 'audit',
  'GET /api/audit/events': 'audit',
  'GET /api/audit/export': 'audit',
  'GET /api/audit/feed': 'audit',
  'GET /api/audit/signing-keys': 'audit',
  'GET /api/audit/log': 'audit',
  'GET /api/audit/openapi.json': 'described',
  'GET /api/audit/proofs/{position}': 'audit',
  'GET /api/audit/stamps': 'audit',
  'GET /api/audit/tile/{path*}': 'audit',
  'GET /api/audit/bundles/{slug}/{id}': 'audit',
  'GET /api/audit/bundles/globals/{slug}': 'audit',
  'GET /api/audit/bundles/accounts/{slug}/{id}': 'audit',
  'GET /api/audit/documents/{slug}/{id}': 'audit',
  'GET /api/audit/documents/{slug}/{id}/diff': 'audit',
  'GET /api/audit/documents/{slug}/{id}/blame': 'audit',
  'GET /api/audit/documents/{slug}/{id}/versions/{version}': 'audit',
  'GET /api/audit/documents/{slug}/{id}/versions/{version}/access': 'audit',
  'GET /api/audit/globals/{slug}': 'audit',
  'GET /api/audit/globals/{slug}/diff': 'audit',
  'GET /api/audit/globals/{slug}/blame': 'audit',
  'GET /api/audit/globals/{slug}/versions/{version}': 'audit',
  'GET /api/audit/globals/{slug}/versions/{version}/access': 'audit',
  'GET /api/audit/accounts/{slug}/{id}': 'audit',
  'GET /api/audit/accounts/{slug}/{id}/versions/{version}': 'audit',
  'GET /api/audit/accounts/{slug}/{id}/versions/{version}/access': 'audit',
  'GET /api/audit/accounts/{slug}/invites/{id}': 'audit',
  'GET /api/audit/accounts/{slug}/invites/{id}/versions/{version}': 'audit',
  'GET /api/audit/accounts/{slug}/invites/{id}/versions/{version}/access': 'audit',
  'GET /api/schemas': 'described',
  'GET /api/openapi.json': 'described',
  'GET /api/collections/*/me': 'user',
  'GET /api/collections/*/sessions': 'user',
  'DELETE /api/collections/*/sessions/{sid}': 'user',
  'POST /api/collections/*/logout': 'user',
  'POST /api/collections/*/refresh-token': 'user',
  'POST /api/collections/*/invite': 'user',
  'GET /api/collections/*/invitations': 'user',
  'GET /api/collections/*/invitations/{id}': 'user',
  'DELETE /api/collections/*/invitations/{id}': 'user',
  'GET /api/drafts': 'user',
  'GET /api/drafts/{slug}/{id}': 'user',
  'PUT /api/drafts/{slug}/{id}': 'user',
  'DELETE /api/drafts/{slug}/{id}': 'user',
  'GET /api/drafts/globals/{slug}': 'user',
  'PUT /api/drafts/globals/{slug}': 'user',
  'DELETE /api/drafts/globals/{slug}': 'user',
  'GET /api/preferences': 'user',
  'PATCH /api/preferences': 'user',
  'POST /api/operator/unlock': 'user',
  'POST /api/operator/set-password': 'user',
  'POST /api/operator/users': 'user',
  'POST /api/operator/sessions/revoke': 'user',
  'POST /api/operator/keys/revoke': 'user',
  'POST /api/operator/blobs/collect': 'user',
  'POST /api/operator/blobs/losses': 'user',
  'POST /api/operator/reload': 'user',
  'POST /api/operator/schema/apply': 'user',
  'POST /api/operator/signing-key': 'user',
  'GET /api/keys': 'keys',
  'POST /api/keys': 'keys',
  'GET /api/keys/{id}': 'keys',
  'DELETE /api/keys/{id}': 'keys',
  'POST /api/keys/{id}/rotate': 'keys',
  'GET /api/webhooks': 'keys',
  'GET /api/webhooks/{name}': 'keys',
  'GET /api/webhooks/{name}/deliveries': 'keys',
  'GET /api/webhooks/{name}/deliveries/{id}': 'keys',
  'POST /api/webhooks/{name}/retry': 'keys',
  'POST /api/webhooks/{name}/deliveries/{id}/retry': 'keys',
  'GET /api/releases': 'releases',
  'POST /api/releases': 'releases',
  'GET /api/releases/{id}': 'releases',
  'PATCH /api/releases/{id}': 'releases',
  'DELETE /api/releases/{id}': 'releases',
  'POST /api/releases/{id}/items': 'releases',
  'DELETE /api/releases/{id}/items/{slug}/{document}': 'releases',
  'POST /api/releases/{id}/schedule': 'releases',
  'POST /api/releases/{id}/unschedule': 'releases',
  'POST /api/releases/{id}/check': 'releases',
  'POST /api/releases/{id}/publish': 'releases',
  'GET /': 'nothing',
  '* /{any*}': 'nothing',
  'OPTIONS /{any*}': 'nothing',
};

const slugs = /^(\/api\/(?:collections|globals|media)\/)[^/{]+/;

/** The name of a route in {@link keyRoutes}. */
export function keyRouteOf({ method, path }: { method: string; path: string }): string {
  return `${method.toUpperCase()} ${path.replace(slugs, '$1*')}`;
}

/**
 * Refuses a key that was made at run time on a route that is not in {@link keyRoutes}.
 *
 * @throws DomainError `forbidden`.
 */
export function requireOpenRoute({ route }: Request): void {
  if (!Object.hasOwn(keyRoutes, keyRouteOf(route)))
    throw new DomainError('forbidden', 'this route is closed to API keys');
}
