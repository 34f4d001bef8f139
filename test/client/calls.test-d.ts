import {
  type Absence,
  type AccountState,
  type ApiKey,
  type ApiKeyWithSecret,
  type Client,
  type CollectionSlug,
  type CursorPage,
  createClient,
  type Delivery,
  type DocumentOf,
  type GlobalSlug,
  type Invitation,
  type OwnDraft,
  type OwnDraftWithData,
  type Page,
  type Reference,
  type Trashed,
  type UncountedPage,
  type Webhook,
} from '../../client/index.ts';
import { defineConfig } from '../../config/define.ts';
import type config from './rich.config.ts';
import type { Annals } from './rich.types.ts';

// Types are tested by the compiler, as in types.test-d.ts: which calls there are, what they take and what they give.
// Nothing here is ever run.
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Is<T extends true> = T;
type C = typeof config;
type Given<T extends (...args: never[]) => unknown> = Awaited<ReturnType<T>>;

const client: Client<C> = createClient<typeof config>({ baseUrl: 'https://cms.example.org' });
const [posts, pictures, members] = [
  client.collection('posts'),
  client.collection('pictures'),
  client.collection('members'),
];

const lists = async () => ({
  flat: await posts.find({ where: { status: { equals: 'published' } }, sort: ['-title', 'author.name'], limit: 5 }),
  deep: await posts.find({ depth: 1, asOf: new Date() }),
  one: await posts.findOne('1', { depth: 1 }),
  first: await posts.findOne({ where: { title: { like: 'x' } }, depth: 2 }),
  all: posts.findAll({ depth: 1 }),
  groups: await posts.aggregate({ groupBy: ['status', 'createdAt.month'], sum: ['views'], sort: '-sum.views' }),
  counted: await posts.aggregate(),
  values: await posts.distinct('status', { where: { title: { like: 'x' } } }),
  pointing: await posts.references('1', { limit: 5 }),
  gone: await posts.trash({ limit: 5, page: 2, asOf: 7 }),
  absent: await posts.absence('1', { asOf: new Date() }),
  words: await posts.find({ q: 'a "few words"', where: { title: { like: 'x' } } }),
  found: await client.search('a few', { collections: ['posts', 'pictures'], limit: 5 }),
});
type Lists = Given<typeof lists>;
export type Reads = [
  Is<Equal<Lists['flat'], Page<DocumentOf<C, 'posts'>>>>,
  Is<Equal<Lists['flat']['docs'][number]['author'], string>>,
  Is<Equal<Lists['deep'], Page<DocumentOf<C, 'posts', 1>>>>,
  Is<Equal<Lists['one'], DocumentOf<C, 'posts', 1> | null>>,
  Is<Equal<Lists['absent'], Absence | null>>,
  Is<Equal<Lists['first'], DocumentOf<C, 'posts', 2> | null>>,
  Is<
    Equal<
      Lists['groups']['groups'][number]['key'],
      { status: string | number | boolean | null; 'createdAt.month': string | number | boolean | null }
    >
  >,
  Is<Equal<Lists['groups']['groups'][number]['sum'], { views: string | number | null }>>,
  Is<Equal<keyof Lists['groups']['groups'][number], 'key' | 'count' | 'sum'>>,
  Is<Equal<keyof Lists['counted']['groups'][number], 'key' | 'count'>>,
  Is<Equal<Lists['values']['values'][number]['count'], number>>,
  Is<Equal<Lists['pointing'], Page<Reference<CollectionSlug<C>, GlobalSlug<C>>>>>,
  Is<Equal<Lists['gone'], Page<Trashed<'posts'>>>>,
  Is<Equal<Lists['words'], Page<DocumentOf<C, 'posts'>>>>,
  Is<Equal<Lists['found']['docs'][number]['collection'], CollectionSlug<C>>>,
  Is<Equal<Lists['all'], AsyncGenerator<DocumentOf<C, 'posts', 1>, void, undefined>>>,
];

const others = async () => ({
  made: await posts.create({ title: 'x', author: '1', secret: 'y' } as never, { idempotencyKey: 'x', reason: 'y' }),
  changed: await posts.update('1', { title: 'x' }, { ifMatch: '"1"' }),
  plan: await posts.restore('1', { version: 1 }, { dryRun: true }),
  restored: await posts.restore('1', { position: 1 }, { reason: 'y' }),
  many: await posts.createMany([{ title: 'x', author: '1', secret: 'y' } as never], { reason: 'y' }),
  upserted: await posts.upsertMany('slug', [{ slug: 'x', title: 'x' }]),
  updated: await posts.updateMany({ where: { status: { equals: 'draft' } } }, { title: 'x' }, { dryRun: true }),
  deleted: await posts.deleteMany({ ids: ['1'] }, { idempotencyKey: 'x' }),
  undone: await client.undo('x', { force: true, dryRun: true }),
  file: await pictures.upload(new Blob([]), { alt: 'x' }, { onProgress: ({ sent }) => sent.toFixed() }),
  login: await members.login({ email: 'x', password: 'y' }),
  me: await members.me(),
  site: await client.global('site').get(),
  draft: await client.previewData('x'),
});
type Others = Given<typeof others>;
export type Writes = [
  Is<Equal<Others['made'], DocumentOf<C, 'posts'>>>,
  Is<Equal<Others['changed'], DocumentOf<C, 'posts'>>>,
  Is<Equal<Others['plan']['diff'][number]['field'], string>>,
  Is<Equal<Others['restored'], DocumentOf<C, 'posts'>>>,
  Is<Equal<Others['many']['results'][number], { index: number; id: string; version: number }>>,
  Is<Equal<Others['upserted']['results'][number]['outcome'], 'created' | 'updated' | 'unchanged'>>,
  Is<Equal<Others['updated']['results'][number]['outcome'], 'updated' | 'unchanged'>>,
  Is<Equal<Others['deleted']['batch'], string | null>>,
  Is<Equal<Others['undone']['results'][number]['collection'], string>>,
  Is<Equal<Others['file'], DocumentOf<C, 'pictures'>>>,
  Is<Equal<Others['login'], { token: string; user: DocumentOf<C, 'members'> }>>,
  Is<Equal<Others['me'], DocumentOf<C, 'members', 1>>>,
  Is<Equal<Others['site']['title'], string>>,
  Is<Equal<Others['draft']['collection'], 'posts' | 'authors' | 'pictures' | 'members' | 'post-create'>>,
];

export const refused = () => [
  // @ts-expect-error no such collection
  client.collection('pots'),
  // @ts-expect-error no such global
  client.global('posts'),
  // @ts-expect-error accounts alone log in
  posts.login,
  // @ts-expect-error files alone are uploaded
  members.upload,
  // @ts-expect-error a file is made by its bytes
  pictures.create,
  // @ts-expect-error no such field
  posts.find({ where: { titel: { equals: 'x' } } }),
  // @ts-expect-error no such option
  posts.find({ where: { status: { equals: 'drft' } } }),
  // @ts-expect-error no such collection
  client.search('x', { collections: ['post'] }),
  // @ts-expect-error not an order
  posts.find({ sort: 'tags' }),
  // @ts-expect-error no such parameter
  posts.find({ limt: 5 }),
  // @ts-expect-error a field that is required
  posts.create({}),
  // @ts-expect-error a new document has no version
  posts.create({} as never, { ifMatch: '"1"' }),
  // @ts-expect-error a list is not changed
  posts.find({ reason: 'x' }),
  // @ts-expect-error neither a version nor a position
  posts.restore('1', {}),
  // @ts-expect-error a field that is required
  posts.createMany([{}]),
  // @ts-expect-error no such field to find documents by
  posts.upsertMany('titel', []),
  // @ts-expect-error passwords are not set for many at once
  members.updateMany({ ids: [] }, { password: 'x' }),
  // @ts-expect-error ids or a condition, not both
  posts.deleteMany({ ids: [], where: { status: { equals: 'draft' } } }),
  // @ts-expect-error no such option
  posts.deleteMany({ where: { status: { equals: 'drft' } } }),
  // @ts-expect-error files come one by one
  pictures.deleteMany,
];

// Users are shown to themselves as deep as the configuration says.
const deep = defineConfig({
  collections: [
    { slug: 'teams', fields: [{ name: 'name', type: 'text', required: true }] },
    { slug: 'users', auth: { depth: 1 }, fields: [{ name: 'team', type: 'relationship', relationTo: 'teams' }] },
  ],
});
const users = createClient<typeof deep>({ baseUrl: 'https://cms.example.org' }).collection('users');
type Team = DocumentOf<typeof deep, 'teams'>;
export type Me = [
  Is<Equal<Given<typeof users.me>['team'], string | Team | null>>,
  Is<Equal<Given<typeof users.login>['user']['team'], string | null>>,
];

// An invited user gives the fields that an account of the collection needs.
const named = defineConfig({
  collections: [
    {
      slug: 'staff',
      auth: true,
      fields: [
        { name: 'name', type: 'text', required: true },
        { name: 'phone', type: 'text' },
      ],
    },
  ],
});
const staff = createClient<typeof named>({ baseUrl: 'https://cms.example.org' }).collection('staff');
export const invited = () => [
  staff.acceptInvite({ token: 'x', password: 'y', name: 'Grace' }),
  staff.createFirstUser({ setupToken: 'x', email: 'a@example.org', password: 'y', name: 'Grace', phone: null }),
  // @ts-expect-error the name is required
  staff.acceptInvite({ token: 'x', password: 'y' }),
  // @ts-expect-error the name is required
  staff.createFirstUser({ setupToken: 'x', email: 'a@example.org', password: 'y' }),
];

export type Accounts = [
  Is<Equal<Given<typeof staff.invitations>, Page<Invitation>>>,
  Is<Equal<Given<typeof staff.invitation>, Invitation>>,
  Is<Equal<Given<typeof staff.sessions>, Page<AccountState['sessions'][number]>>>,
  Is<Equal<Given<typeof staff.withdrawInvitation>, Invitation>>,
  Is<Equal<Given<typeof staff.account>, AccountState>>,
  Is<Equal<Given<typeof staff.unlock>, AccountState>>,
  Is<Equal<Given<typeof staff.endSession>, AccountState['sessions'][number]>>,
];

// A client without types allows every call.
export const loose = async () => {
  const any = createClient({ baseUrl: 'https://cms.example.org' });
  const made = await any.collection('anything').create({ a: 1 });
  const file = await any.collection('anything').upload(new Blob([]), { a: 1 });
  const { user } = await any.collection('anything').login({ email: 'x', password: 'y' });
  const found = await any.collection('anything').find({ where: { 'a.b': { in: [1] }, or: [{ c: { exists: true } }] } });
  return [made.a, file.id, user.b, found.docs[0]?.c, (await any.global('anything').get()).d] satisfies unknown[];
};

const ownDrafts = async () => ({
  list: await client.drafts.list({ limit: 100, page: 2 }),
  kept: await client.drafts.keep({ collection: 'posts', id: 'new-1' }, { data: { a: 1 }, version: null }),
  read: await client.drafts.get({ collection: 'posts', id: '1' }),
  dropped: await client.drafts.drop({ collection: 'posts', id: '1' }, { ifMatch: '"1"' }),
  preferences: await client.preferences.update({ theme: null }),
});
type DraftCalls = Given<typeof ownDrafts>;
export type OfDrafts = [
  Is<Equal<DraftCalls['list'], Page<OwnDraft>>>,
  Is<Equal<DraftCalls['kept'], OwnDraft>>,
  Is<Equal<DraftCalls['read'], OwnDraftWithData>>,
  Is<Equal<DraftCalls['dropped'], OwnDraft>>,
  Is<Equal<DraftCalls['preferences'], Record<string, unknown>>>,
];
// @ts-expect-error no such collection
client.drafts.get({ collection: 'post', id: '1' });

const keys = async () => ({
  list: await client.keys.list({ limit: 100, page: 2 }),
  one: await client.keys.get('1'),
  made: await client.keys.create({
    name: 'x',
    scopes: [{ collections: ['posts'], globals: '*', operations: ['read'] }],
    audit: ['headers'],
  }),
  rotated: await client.keys.rotate('1', { overlapSeconds: 60 }),
  ended: await client.keys.revoke('1', { reason: 'x' }),
});
type KeyCalls = Given<typeof keys>;
export type OfKeys = [
  Is<Equal<KeyCalls['list'], Page<ApiKey>>>,
  Is<Equal<KeyCalls['one'], ApiKey>>,
  Is<Equal<KeyCalls['made'], ApiKeyWithSecret>>,
  Is<Equal<KeyCalls['rotated'], ApiKeyWithSecret>>,
  Is<Equal<KeyCalls['ended'], ApiKey>>,
];

// @ts-expect-error there is no such collection
client.keys.create({ name: 'x', scopes: [{ collections: ['post'], operations: ['read'] }] });
// @ts-expect-error there is no such operation
client.keys.create({ name: 'x', scopes: [{ collections: '*', operations: ['write'] }] });
// @ts-expect-error a scope names its operations
client.keys.create({ name: 'x', scopes: [{ collections: '*' }] });
// @ts-expect-error a key has a name
client.keys.create({});

// A selection narrows the document that is given, from the configuration and from the written types alike.
const written = createClient<Annals>({ baseUrl: 'https://cms.example.org' });
const selected = async () => ({
  flat: await posts.find({ select: ['title', 'views', 'notes'] }),
  one: await posts.findOne('1', { select: 'title' }),
  through: await posts.findOne('1', { select: ['author.name', 'related.title', 'editor.posts.title'] }),
  nested: await posts.findOne('1', { select: ['seo.image.alt', 'links.url', 'settings', 'sections.text'] }),
  deep: await posts.findOne('1', { select: ['author', 'title'], depth: 1 }),
  both: await posts.findOne('1', { select: ['author', 'author.name'] }),
  joined: await client.collection('authors').findOne('1', { select: ['posts.title', 'name'] }),
  all: posts.findAll({ select: ['title'] }),
  walked: await posts.find({ select: ['title'], next: '' }),
  uncounted: await posts.find({ count: 'none' }),
  count: await posts.count({ where: { title: { like: 'x' } } }),
  counts: await client.counts(),
  site: await client.global('site').get({ select: 'title' }),
});
const selectedByFile = async () => ({
  flat: await written.collection('posts').find({ select: ['title', 'views', 'notes'] }),
  through: await written
    .collection('posts')
    .findOne('1', { select: ['author.name', 'related.title', 'editor.posts.title'] }),
  nested: await written
    .collection('posts')
    .findOne('1', { select: ['seo.image.alt', 'links.url', 'settings', 'sections.text'] }),
  joined: await written.collection('authors').findOne('1', { select: ['posts.title', 'name'] }),
});
type Selected = Given<typeof selected>;
type SelectedByFile = Given<typeof selectedByFile>;
type Title = { id: string; title: string };
type Through = {
  id: string;
  author: string | { id: string; name: string };
  editor: string | { id: string; posts: (string | Title)[] } | null;
  related: (string | Title)[];
};
type Nested = {
  id: string;
  seo: { image: string | { id: string; alt: string } | null } | null;
  settings: { layout: 'wide' | 'narrow'; colour: string | null };
  links: { url: string }[];
};
type WithoutSections<T> = T extends { sections: unknown } ? { [Key in keyof Omit<T, 'sections'>]: T[Key] } : never;
type Sections<T> = T extends { sections: infer Found } ? Found : never;
type Flat = { id: string; title: string; views: number | null; notes?: string | null };
export type Selections = [
  Is<Equal<Selected['flat'], Page<Flat>>>,
  Is<Equal<Selected['one'], Title | null>>,
  Is<Equal<Selected['through'], Through | null>>,
  Is<Equal<WithoutSections<Selected['nested']>, Nested>>,
  Is<Equal<Selected['deep'], { id: string; title: string; author: DocumentOf<C, 'posts', 1>['author'] } | null>>,
  Is<Equal<Selected['both'], { id: string; author: string | { id: string; name: string } } | null>>,
  Is<Equal<Selected['joined'], { id: string; name: string; posts: (string | Title)[] } | null>>,
  Is<Equal<Selected['all'], AsyncGenerator<Title, void, undefined>>>,
  Is<Equal<Selected['walked'], CursorPage<Title>>>,
  Is<Equal<Selected['uncounted'], UncountedPage<DocumentOf<C, 'posts'>>>>,
  Is<Equal<Selected['count'], number>>,
  Is<Equal<Selected['counts']['posts'], { total: number } | undefined>>,
  Is<Equal<Selected['site'], { title: string }>>,
  Is<Equal<SelectedByFile['flat'], Page<Flat>>>,
  Is<Equal<SelectedByFile['through'], Through | null>>,
  Is<Equal<WithoutSections<SelectedByFile['nested']>, Nested>>,
  Is<Equal<SelectedByFile['joined'], { id: string; name: string; posts: (string | Title)[] } | null>>,
  Is<Equal<Sections<Selected['nested']>, Sections<SelectedByFile['nested']>>>,
];

export const unselected = () => [
  // @ts-expect-error no such field
  posts.find({ select: ['titel'] }),
  // @ts-expect-error no such field of the related document
  posts.find({ select: ['author.nam'] }),
  // @ts-expect-error no such field
  posts.findOne('1', { select: 'title,views' }),
  // @ts-expect-error a place and a page
  posts.find({ next: '', page: 1 }),
  // @ts-expect-error no such way to count
  posts.find({ count: 'some' }),
  // @ts-expect-error a count is not sorted
  posts.count({ sort: 'title' }),
];

const webhooks = async () => ({
  list: await client.webhooks.list({ limit: 100, page: 2 }),
  one: await client.webhooks.get('front'),
  delivery: await client.webhooks.delivery('front', '1'),
  deliveries: await client.webhooks.deliveries('front', { state: 'parked', limit: 1, page: 2 }),
  retried: await client.webhooks.retry('front', '1'),
});
type WebhookCalls = Given<typeof webhooks>;
export type OfWebhooks = [
  Is<Equal<WebhookCalls['list'], Page<Webhook>>>,
  Is<Equal<WebhookCalls['one'], Webhook>>,
  Is<Equal<WebhookCalls['delivery'], Delivery>>,
  Is<Equal<WebhookCalls['deliveries'], Page<Delivery>>>,
  Is<Equal<WebhookCalls['retried'], Delivery>>,
];

// @ts-expect-error there is no such state
client.webhooks.deliveries('front', { state: 'done' });
