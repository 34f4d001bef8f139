import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Client, createClient } from '../../client/index.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { apiKey } from '../helpers/service.ts';

const service = useServiceHere({
  bcryptCost: 4,
  collections: [
    { slug: '__admins', auth: { useAPIKey: true }, fields: [] },
    { slug: 'posts', drafts: true, fields: [{ name: 'code', type: 'text', unique: true }] },
    { slug: 'files', upload: true, fields: [] },
  ],
  globals: [{ slug: 'site', drafts: true, fields: [{ name: 'title', type: 'text' }] }],
  webhooks: [
    { name: 'front', url: 'https://front.example.org/', secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` },
  ],
});

const id = '01a1fc16-69a0-7000-82bd-639efa5b80fa';
const about = { collection: 'posts', id };

type Made = (client: Client) => unknown;
type Pairs = Record<string, [operation: string, call: Made]>;

/**
 * Each method of the client, with the operation that it calls. Both have one name, or the operation has the words of
 * the whole call: `keys.list` is `listKeys`, and a noun is read or listed: `sessions` is `listSessions`. The methods
 * `find…` are lists and reads, `get` is a read, and methods of files are writes of documents with a form.
 */
const pairs: Record<string, Pairs> = {
  'client.': {
    search: ['search', (client) => client.search('x')],
    counts: ['readCounts', (client) => client.counts()],
    trash: ['listAllTrash', (client) => client.trash()],
    reviews: ['listReviews', (client) => client.reviews()],
    undo: ['undoBatch', (client) => client.undo(id)],
    batch: ['readBatch', (client) => client.batch(id)],
    schemas: ['readSchemas', (client) => client.schemas()],
    boot: ['readBoot', (client) => client.boot()],
    previewToken: ['createPreviewToken', (client) => client.previewToken({ ...about, data: {} })],
    previewData: ['readPreviewData', (client) => client.previewData('x')],
  },
  'client.keys.': {
    list: ['listKeys', (client) => client.keys.list()],
    get: ['readKey', (client) => client.keys.get(id)],
    create: ['createKey', (client) => client.keys.create({ name: '' })],
    rotate: ['rotateKey', (client) => client.keys.rotate(id)],
    revoke: ['revokeKey', (client) => client.keys.revoke(id)],
  },
  'client.webhooks.': {
    list: ['listWebhooks', (client) => client.webhooks.list()],
    get: ['readWebhook', (client) => client.webhooks.get('front')],
    delivery: ['readDelivery', (client) => client.webhooks.delivery('front', id)],
    deliveries: ['listDeliveries', (client) => client.webhooks.deliveries('front')],
    retry: ['retryDelivery', (client) => client.webhooks.retry('front', id)],
    retryAll: ['retryDeliveries', (client) => client.webhooks.retryAll('front')],
  },
  'client.previewTokens.': {
    list: ['listPreviewTokens', (client) => client.previewTokens.list()],
    revoke: ['revokePreviewToken', (client) => client.previewTokens.revoke(id)],
  },
  'client.releases.': {
    list: ['listReleases', (client) => client.releases.list()],
    get: ['readRelease', (client) => client.releases.get(id)],
    create: ['createRelease', (client) => client.releases.create({ title: 'x' })],
    update: ['updateRelease', (client) => client.releases.update(id, {})],
    setItems: ['setReleaseItems', (client) => client.releases.setItems(id, [])],
    removeItem: ['removeReleaseItem', (client) => client.releases.removeItem(id, about)],
    schedule: ['scheduleRelease', (client) => client.releases.schedule(id, { at: 'x' })],
    unschedule: ['unscheduleRelease', (client) => client.releases.unschedule(id)],
    check: ['checkRelease', (client) => client.releases.check(id)],
    publish: ['publishRelease', (client) => client.releases.publish(id)],
    archive: ['archiveRelease', (client) => client.releases.archive(id)],
  },
  'client.audit.': {
    events: ['audit_events', (client) => client.audit.events()],
    version: ['audit_documentVersion', (client) => client.audit.version(about, 1)],
    diff: ['audit_documentDiff', (client) => client.audit.diff(about)],
    blame: ['audit_documentBlame', (client) => client.audit.blame(about)],
  },
  'client.drafts.': {
    list: ['listDrafts', (client) => client.drafts.list()],
    get: ['readDraft', (client) => client.drafts.get(about)],
    keep: ['keepDraft', (client) => client.drafts.keep(about, { data: {} })],
    drop: ['dropDraft', (client) => client.drafts.drop(about)],
  },
  'client.preferences.': {
    get: ['readPreferences', (client) => client.preferences.get()],
    update: ['updatePreferences', (client) => client.preferences.update({})],
  },
  'client.global.': {
    get: ['readGlobal', (client) => client.global('site').get()],
    update: ['updateGlobal', (client) => client.global('site').update({})],
    restore: ['restoreGlobal', (client) => client.global('site').restore({ version: 1 })],
    publish: ['publishGlobal', (client) => client.global('site').publish()],
    discard: ['discardGlobal', (client) => client.global('site').discard()],
    requestReview: ['requestReviewGlobal', (client) => client.global('site').requestReview()],
    withdrawReview: ['withdrawReviewGlobal', (client) => client.global('site').withdrawReview()],
    refuseReview: ['refuseReviewGlobal', (client) => client.global('site').refuseReview({ note: 'x' })],
    history: ['audit_globalHistory', (client) => client.global('site').history()],
  },
  'client.collection.': {
    find: ['list', (client) => client.collection('posts').find()],
    findAll: ['list', (client) => client.collection('posts').findAll().next()],
    findOne: ['read', (client) => client.collection('posts').findOne(id)],
    absence: ['read', (client) => client.collection('posts').absence(id, { asOf: 1 })],
    count: ['count', (client) => client.collection('posts').count()],
    aggregate: ['aggregate', (client) => client.collection('posts').aggregate()],
    distinct: ['distinct', (client) => client.collection('posts').distinct('code')],
    references: ['listReferences', (client) => client.collection('posts').references(id)],
    trash: ['listTrash', (client) => client.collection('posts').trash()],
    create: ['create', (client) => client.collection('posts').create({})],
    update: ['update', (client) => client.collection('posts').update(id, {})],
    delete: ['delete', (client) => client.collection('posts').delete(id)],
    restore: ['restore', (client) => client.collection('posts').restore(id, { version: 1 })],
    publish: ['publish', (client) => client.collection('posts').publish(id)],
    unpublish: ['unpublish', (client) => client.collection('posts').unpublish(id)],
    discard: ['discard', (client) => client.collection('posts').discard(id)],
    requestReview: ['requestReview', (client) => client.collection('posts').requestReview(id)],
    withdrawReview: ['withdrawReview', (client) => client.collection('posts').withdrawReview(id)],
    refuseReview: ['refuseReview', (client) => client.collection('posts').refuseReview(id, { note: 'x' })],
    history: ['audit_documentHistory', (client) => client.collection('posts').history(id)],
    createMany: ['createMany', (client) => client.collection('posts').createMany([])],
    upsertMany: ['createMany', (client) => client.collection('posts').upsertMany('code', [])],
    updateMany: ['updateMany', (client) => client.collection('posts').updateMany({ ids: [] }, {})],
    deleteMany: ['deleteMany', (client) => client.collection('posts').deleteMany({ ids: [] })],
    publishMany: ['publishMany', (client) => client.collection('posts').publishMany({ ids: [] })],
    unpublishMany: ['unpublishMany', (client) => client.collection('posts').unpublishMany({ ids: [] })],
    discardMany: ['discardMany', (client) => client.collection('posts').discardMany({ ids: [] })],
    upload: ['create', (client) => client.collection('files').upload(new Blob(['x']), {}, { filename: 'x.txt' })],
    replaceFile: [
      'update',
      (client) => client.collection('files').replaceFile(id, new Blob(['x']), {}, { filename: 'x.txt' }),
    ],
    login: ['login', (client) => client.collection('__admins').login({ email: 'x', password: 'y' })],
    logout: ['logout', (client) => client.collection('__admins').logout()],
    me: ['me', (client) => client.collection('__admins').me()],
    refreshToken: ['refreshToken', (client) => client.collection('__admins').refreshToken()],
    sessions: ['listSessions', (client) => client.collection('__admins').sessions()],
    endOwnSession: ['endOwnSession', (client) => client.collection('__admins').endOwnSession(id)],
    invite: ['invite', (client) => client.collection('__admins').invite({ email: 'x' })],
    invitations: ['listInvitations', (client) => client.collection('__admins').invitations()],
    invitation: ['readInvitation', (client) => client.collection('__admins').invitation(id)],
    withdrawInvitation: ['withdrawInvitation', (client) => client.collection('__admins').withdrawInvitation(id)],
    account: ['readAccount', (client) => client.collection('__admins').account(id)],
    unlock: ['unlock', (client) => client.collection('__admins').unlock(id)],
    endSession: ['endSession', (client) => client.collection('__admins').endSession(id, id)],
    acceptInvite: [
      'acceptInvite',
      (client) => client.collection('__admins').acceptInvite({ token: 'x', password: 'y' }),
    ],
    forgotPassword: ['forgotPassword', (client) => client.collection('__admins').forgotPassword({ email: 'x' })],
    resetPassword: [
      'resetPassword',
      (client) => client.collection('__admins').resetPassword({ token: 'x', password: 'y' }),
    ],
    isInitialized: ['readInit', (client) => client.collection('__admins').isInitialized()],
    createFirstUser: [
      'createFirstUser',
      (client) => client.collection('__admins').createFirstUser({ setupToken: 'x', email: 'x', password: 'y' }),
    ],
  },
};

/** Members that call nothing, and those whose methods have their own list. */
const callNothing = ['token', 'mediaUrl', 'etagOf', 'collection', 'global'];
const parts = ['keys', 'webhooks', 'releases', 'previewTokens', 'audit', 'drafts', 'preferences'] as const;

type Operations = { method: string; pattern: RegExp; kind: string }[];

/** The operations of both documents, without the slugs in their names; paths without parameters come first. */
async function operationsOf(): Promise<Operations> {
  const documents = ['/api/openapi.json', '/api/audit/openapi.json'];
  const bodies = await Promise.all(documents.map(async (path) => (await service.call('GET', path)).body));
  const found = bodies.flatMap(({ paths }) =>
    Object.entries<Record<string, { operationId?: string }>>(paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, { operationId }]) =>
        operationId === undefined ? [] : [{ path, method: method.toUpperCase(), id: operationId }],
      ),
    ),
  );
  return found
    .toSorted((one, other) => one.path.split('{').length - other.path.split('{').length)
    .map(({ path, method, id }) => ({
      method,
      pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
      kind: id.startsWith('audit_') ? id : id.replace(/_(__admins|posts|files|site)$/, ''),
    }));
}

describe('The methods of the client', () => {
  it('have the names of the operations that they call', async () => {
    const operations = await operationsOf();
    for (const [before, calls] of Object.entries(pairs)) {
      for (const [name, [expected, call]] of Object.entries(calls)) {
        const sent: (string | undefined)[] = [];
        const client = createClient({
          baseUrl: service.url,
          apiKey,
          retries: 0,
          // Nothing is sent: only the request counts here.
          fetch: async (url, init) => {
            const { pathname } = new URL(url);
            const isIt = ({ method, pattern }: Operations[number]) => method === init.method && pattern.test(pathname);
            sent.push(operations.find(isIt)?.kind);
            return Response.json({}, { status: 404 });
          },
        });
        await Promise.resolve(call(client)).catch(() => {});
        assert.deepEqual(sent, [expected], before + name);
      }
    }
  });

  it('are all in this list', () => {
    const client = createClient({ baseUrl: service.url });
    const own = Object.keys(client).filter((name) => !callNothing.includes(name) && !parts.some((one) => one === name));
    assert.deepEqual(own.toSorted(), Object.keys(pairs['client.'] ?? {}).toSorted());
    const others = { ...client, collection: client.collection('posts'), global: client.global('site') };
    for (const part of [...parts, 'collection', 'global'] as const) {
      const listed = Object.keys(pairs[`client.${part}.`] ?? {});
      assert.deepEqual(Object.keys(others[part]).toSorted(), listed.toSorted(), part);
    }
  });
});
