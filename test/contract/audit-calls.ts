import type { Sent } from '../helpers/requests.ts';

/** Ids of the existing documents, and the callers. */
export type AuditWorld = {
  post: string;
  gone: string;
  file: string;
  erased: number;
  ada: string;
  invitation: string;
  admin: Sent;
};

export const audit = '/api/audit';
export const erasures = `POST ${audit}/erasures`;
export const reason = 'asked for on paper';

/** How every operation is called, so that it answers 200. */
export const right: Record<string, (world: AuditWorld) => [path: string, sent?: Sent]> = {
  [`GET ${audit}/documents/{slug}/{id}`]: (world) => [`${audit}/documents/posts/${world.post}`],
  [`GET ${audit}/documents/{slug}/{id}/versions/{version}`]: (world) => [
    `${audit}/documents/posts/${world.post}/versions/2`,
  ],
  [`GET ${audit}/documents/{slug}/{id}/versions/{version}/access`]: (world) => [
    `${audit}/documents/posts/${world.post}/versions/2/access`,
  ],
  [`GET ${audit}/documents/{slug}/{id}/diff`]: (world) => [`${audit}/documents/posts/${world.post}/diff?from=1&to=2`],
  [`GET ${audit}/documents/{slug}/{id}/blame`]: (world) => [`${audit}/documents/posts/${world.post}/blame`],
  [`GET ${audit}/globals/{slug}`]: () => [`${audit}/globals/site`],
  [`GET ${audit}/globals/{slug}/versions/{version}`]: () => [`${audit}/globals/site/versions/1`],
  [`GET ${audit}/globals/{slug}/versions/{version}/access`]: () => [`${audit}/globals/site/versions/1/access`],
  [`GET ${audit}/globals/{slug}/diff`]: () => [`${audit}/globals/site/diff`],
  [`GET ${audit}/globals/{slug}/blame`]: () => [`${audit}/globals/site/blame`],
  [`GET ${audit}/accounts/{slug}/{id}`]: (world) => [`${audit}/accounts/users/${world.ada}`, world.admin],
  [`GET ${audit}/accounts/{slug}/{id}/versions/{version}`]: (world) => [
    `${audit}/accounts/users/${world.ada}/versions/1`,
    world.admin,
  ],
  [`GET ${audit}/accounts/{slug}/{id}/versions/{version}/access`]: (world) => [
    `${audit}/accounts/users/${world.ada}/versions/1/access`,
    world.admin,
  ],
  [`GET ${audit}/accounts/{slug}/invites/{id}`]: (world) => [`${audit}/accounts/users/invites/${world.invitation}`],
  [`GET ${audit}/accounts/{slug}/invites/{id}/versions/{version}`]: (world) => [
    `${audit}/accounts/users/invites/${world.invitation}/versions/1`,
    world.admin,
  ],
  [`GET ${audit}/accounts/{slug}/invites/{id}/versions/{version}/access`]: (world) => [
    `${audit}/accounts/users/invites/${world.invitation}/versions/1/access`,
    world.admin,
  ],
  [`GET ${audit}/events`]: () => [`${audit}/events`],
  [`GET ${audit}/log`]: () => [`${audit}/log`],
  [`GET ${audit}/signing-keys`]: () => [`${audit}/signing-keys`],
  [`GET ${audit}/feed`]: () => [`${audit}/feed`],
  [`GET ${audit}/checkpoint`]: () => [`${audit}/checkpoint`],
  [`GET ${audit}/stamps`]: () => [`${audit}/stamps?covers=1`],
  [`GET ${audit}/tile/{path}`]: () => [`${audit}/tile/entries/000.p/2`],
  [`GET ${audit}/proofs/{position}`]: () => [`${audit}/proofs/2?format=json`],
  [`GET ${audit}/consistency`]: () => [`${audit}/consistency?from=1`],
  [`GET ${audit}/bundles/{slug}/{id}`]: (world) => [`${audit}/bundles/posts/${world.post}`],
  [`GET ${audit}/bundles/globals/{slug}`]: () => [`${audit}/bundles/globals/site`],
  [`GET ${audit}/bundles/accounts/{slug}/{id}`]: (world) => [
    `${audit}/bundles/accounts/users/${world.ada}`,
    world.admin,
  ],
  [`GET ${audit}/export`]: () => [`${audit}/export`],
  [`GET ${audit}/erasures`]: () => [`${audit}/erasures`],
  [`GET ${audit}/erasures/{position}`]: (world) => [`${audit}/erasures/${world.erased}`],
  [erasures]: (world) => [`${audit}/erasures?dryRun=true`, { body: { collection: 'posts', id: world.post, reason } }],
  [`GET ${audit}/openapi.json`]: () => [`${audit}/openapi.json`],
};
