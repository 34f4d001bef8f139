import type { Json } from '../../../config/schema.ts';
import type { Service } from '../../helpers/service.ts';

/** A site with drafts in two collections and a global; notes and their counts have none. */
export const config = `
const isEditor = ({ user }) => user?.role === 'writer';
const plain = { read: () => true, create: isEditor, update: isEditor, delete: isEditor };
const access = { ...plain, readDrafts: isEditor, publish: isEditor };
export default {
  bcryptCost: 4, rateLimit: false,
  releases: ({ user, apiKey }) => apiKey !== null || user?.role === 'writer' || user?.role === 'planner',
  collections: [
    { slug: 'staff', auth: true, fields: [{ name: 'role', type: 'text' }], access: { create: () => true, read: ({ user }) => Boolean(user), delete: isEditor } },
    {
      slug: 'posts', drafts: { publishedAt: 'published' }, access,
      fields: [
        { name: 'title', type: 'text', required: true }, { name: 'slug', type: 'text', unique: true },
        { name: 'body', type: 'textarea' }, { name: 'stock', type: 'number', index: true },
        { name: 'published', type: 'datetime' },
        { name: 'author', type: 'relationship', relationTo: 'authors' },
        { name: 'also', type: 'relationship', relationTo: 'authors', hasMany: true },
      ],
    },
    {
      slug: 'authors', drafts: true, access,
      fields: [
        { name: 'name', type: 'text', required: true },
        { name: 'posts', type: 'join', collection: 'posts', on: 'author', sort: '-title', limit: 2 },
      ],
    },
    {
      slug: 'notes', access: { ...plain, read: () => ({ 'post.stock': { greater_than: 0 } }) },
      fields: [{ name: 'text', type: 'text' }, { name: 'post', type: 'relationship', relationTo: 'posts' }],
    },
    {
      slug: 'private', drafts: true, access: { ...access, read: isEditor },
      fields: [{ name: 'text', type: 'text' }],
    },
  ],
  globals: [{ slug: 'site', drafts: true, access: { read: () => true, update: isEditor }, fields: [{ name: 'name', type: 'text' }] }],
};`;

type Call = Service['call'];

let number = 0;

/** Makes documents, and a release that adds, changes and removes some; gives the ids of the release and of posts. */
export async function releasedSite(call: Call, extra: object = {}) {
  number += 1;
  const create = async (path: string, values: object): Promise<string> => {
    const { status, body } = await call('POST', `/api/collections/${path}`, values);
    if (status !== 201) throw new Error(`${path}: ${JSON.stringify(body)}`);
    return body.id;
  };
  const slug = (name: string) => `${name}-${number}`;
  const known = await create('authors', { name: `Known ${number}` });
  const coming = await create('authors?draft=true', { name: `Coming ${number}` });
  const plain = await create('posts', { title: 'Plain', slug: slug('plain'), stock: 3, author: known });
  const changed = await create('posts', { title: 'Public', slug: slug('public'), stock: 1, author: known });
  const removed = await create('posts', { title: 'Removed', slug: slug('removed'), stock: 2, author: known });
  await call('PATCH', `/api/collections/posts/${changed}?draft=true`, {
    title: 'Changed',
    slug: slug('removed-too'),
    author: coming,
    also: [known, coming],
  });
  const added = await create('posts?draft=true', { title: 'Added', slug: slug('added'), stock: 5, author: known });
  const hidden = await create('private?draft=true', { text: `secret ${number}` });
  for (const post of [plain, changed, removed, added]) await create('notes', { text: slug('note'), post });
  await call('PATCH', '/api/globals/site?draft=true', { name: `Site ${number}` });
  const items = [
    ...[changed, added].map((id) => ({ collection: 'posts', id })),
    { collection: 'posts', id: removed, action: 'unpublish' },
    { collection: 'authors', id: coming },
    { collection: 'private', id: hidden },
    { global: 'site' },
  ];
  const { status, body } = await call('POST', '/api/releases', { title: slug('release'), items, ...extra });
  if (status !== 201) throw new Error(JSON.stringify(body));
  // Not published: the release has the versions from before.
  await call('PATCH', `/api/collections/posts/${changed}?draft=true`, { title: 'Half a sent' });
  return { release: String(body.id), posts: { plain, changed, removed, added }, authors: { known, coming }, hidden };
}

/** Reads of the site in every form: lists, filters, sorts, pages, counts, depth, joins, selections, globals. */
export function sitePaths(): string[] {
  return [
    '/api/collections/posts?sort=title,id',
    '/api/collections/posts?limit=2&page=2&sort=-stock,id',
    '/api/collections/posts?sort=author.name,id&depth=2',
    '/api/collections/posts?where[author.name][like]=Coming&depth=1&sort=id',
    '/api/collections/posts?where[also.name][like]=Known&sort=id',
    '/api/collections/posts?where[body][exists]=false&sort=id',
    '/api/collections/posts?select=title,author.name,__publishedAt&sort=title,id',
    '/api/collections/authors?sort=name&depth=1',
    '/api/collections/notes?depth=2&sort=id',
    '/api/collections/posts/count?where[stock][greater_than]=1',
    '/api/collections/notes/count',
    '/api/counts',
    '/api/globals/site',
  ];
}

/** A body without the times of its documents. */
export function withoutTimes(body: Json): Json {
  return JSON.parse(JSON.stringify(body), (name, value) => {
    return ['updatedAt', 'published', '__publishedAt'].includes(name) && value !== null ? 'time' : value;
  });
}
