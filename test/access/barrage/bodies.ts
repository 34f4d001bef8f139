import { randomUUID } from 'node:crypto';
import { keyRouteOf } from '../../../server/callers/key-routes.ts';
import type { Route } from './routes.ts';
import type { Ids } from './world.ts';

type Maker = (slug: string, ids: Ids) => unknown;

const fresh = () => `fresh${randomUUID()}`;

/** The fields of a document of a collection, each time others. */
const made: Record<string, () => object> = {
  admins: () => ({ email: `${fresh()}@example.org` }),
  editors: () => ({ email: `${fresh()}@example.org` }),
  auditors: () => ({ email: `${fresh()}@example.org` }),
  members: () => ({ email: `${fresh()}@example.org` }),
};
const documentOf = (slug: string) => made[slug]?.() ?? { title: fresh() };
const changeOf = (slug: string) =>
  slug === 'members'
    ? { nick: fresh() }
    : slug === 'editors'
      ? { role: 'texts' }
      : slug === 'auditors'
        ? {}
        : { title: fresh() };
const some = (slug: string, { documents }: Ids) => (documents[slug] ?? []).slice(0, 1);
const wrong = { email: 'ada@example.org', password: 'wrong horse battery' };
const aDraft = { data: { title: 'a draft' }, version: null };

const setUp = { setupToken: 'x', email: 'eve@example.org', password: 'a long password' };

/** A body of each kind of operation that writes; all is right with it, but for what only a mail or a login knows. */
const bodies: Record<string, Maker> = {
  create: (slug) => (slug === 'files' ? formOf() : documentOf(slug)),
  createMany: (slug) => ({ docs: [documentOf(slug)] }),
  updateMany: (slug, ids) => ({ ids: some(slug, ids), data: changeOf(slug) }),
  deleteMany: (slug, ids) => ({ ids: some(slug, ids) }),
  publishMany: (slug, ids) => ({ ids: some(slug, ids) }),
  unpublishMany: (slug, ids) => ({ ids: some(slug, ids) }),
  discardMany: (slug, ids) => ({ ids: some(slug, ids) }),
  requestReview: () => ({}),
  withdrawReview: () => undefined,
  refuseReview: () => ({ note: 'no' }),
  requestReviewGlobal: () => ({}),
  withdrawReviewGlobal: () => undefined,
  refuseReviewGlobal: () => ({ note: 'no' }),
  update: changeOf,
  delete: () => undefined,
  restore: () => ({ version: 1 }),
  updateGlobal: () => ({ title: fresh() }),
  restoreGlobal: () => ({ version: 1 }),
  publish: () => ({ data: { title: fresh() } }),
  unpublish: () => undefined,
  discard: () => undefined,
  unlock: () => undefined,
  endSession: () => undefined,
  endOwnSession: () => undefined,
  login: () => wrong,
  logout: () => undefined,
  refreshToken: () => undefined,
  invite: () => ({ email: `${fresh()}@example.org` }),
  withdrawInvitation: () => undefined,
  acceptInvite: () => ({ token: 'x', password: 'a long password' }),
  createFirstUser: () => setUp,
  forgotPassword: () => ({ email: `${fresh()}@example.org` }),
  resetPassword: () => ({ token: 'x', password: 'a long password' }),
  createPreviewToken: (_, { documents }) => ({
    collection: 'posts',
    id: documents.posts?.[0],
    data: { title: 'a draft' },
  }),
  keepDraft: () => aDraft,
  dropDraft: () => undefined,
  keepDraftOfGlobal: () => aDraft,
  dropDraftOfGlobal: () => undefined,
  updatePreferences: () => ({ theme: 'dark' }),
  createKey: () => ({ name: 'a key' }),
  rotateKey: () => ({}),
  revokeKey: () => undefined,
  retryDelivery: () => undefined,
  retryDeliveries: () => undefined,
  createRelease: (_, { documents }) => ({
    title: fresh(),
    items: [{ collection: 'articles', id: documents.articles?.[0], action: 'publish' }],
  }),
  updateRelease: () => ({ title: fresh() }),
  archiveRelease: () => undefined,
  setReleaseItems: (_, { documents }) => ({
    items: [{ collection: 'articles', id: documents.articles?.[0], action: 'publish' }],
  }),
  removeReleaseItem: () => undefined,
  scheduleRelease: () => ({ at: new Date(Date.now() + 86_400_000).toISOString() }),
  unscheduleRelease: () => undefined,
  checkRelease: () => undefined,
  publishRelease: () => undefined,
  revokePreviewToken: () => undefined,
  audit_erase: (_, { documents }) => ({ collection: 'posts', id: documents.posts?.[1], reason: 'a test' }),
  undoBatch: () => ({}),
};

/** The routes of writes that no document describes, and their bodies: `*` stands for a slug. */
const others: Record<string, unknown> = {
  // This route sets up only the admin collection.
  'POST /api/collections/*/first-user': setUp,
  'POST /api/collections/*/bulk': { docs: [{ title: 'x' }] },
  'POST /api/collections/*/bulk/update': { ids: [], data: { title: 'x' } },
  'POST /api/collections/*/bulk/delete': { ids: [] },
  'POST /api/operator/reload': {},
  'POST /api/operator/signing-key': {},
  'POST /api/operator/set-password': { collection: 'admins', email: 'ada@example.org', password: 'a long password' },
  'POST /api/operator/users': { collection: 'admins' },
  'POST /api/operator/unlock': { collection: 'admins', email: 'ada@example.org' },
  'POST /api/operator/blobs/collect': {},
  'POST /api/operator/blobs/losses': {},
  'POST /api/operator/keys/revoke': { id: '0123456789abcdef' },
  'POST /api/operator/schema/apply': {},
  'POST /api/operator/sessions/revoke': { collection: 'admins', email: 'ada@example.org' },
};

/** Whether a route writes. */
export const isWrite = ({ method }: Route) => !['GET', '*', 'OPTIONS'].includes(method);

/** The body that a route of a write is sent. */
export function bodyOf(route: Route, ids: Ids): unknown {
  const { name, kind, slug, operation } = route;
  const hidden = keyRouteOf(route);
  if (!operation && Object.hasOwn(others, hidden)) return others[hidden];
  const make = bodies[kind];
  if (!operation || !make) throw new Error(`${name}: test/access/barrage/bodies.ts has no body for it (${kind})`);
  return make(slug, ids);
}

function formOf(): FormData {
  const form = new FormData();
  form.append('file', new Blob(['a text']), 'a.txt');
  return form;
}
