import type { Config } from '../../config/define.ts';
import type { AccessArgs } from '../../config/model.ts';
import type { Service } from '../helpers/service.ts';
import { type Credentials, chief } from './helpers.ts';

const isChief = ({ user }: AccessArgs) => user?.role === 'chief';
/** Readers read authors, and nothing else. */
const isWriter = ({ user }: AccessArgs) => user?.role === 'chief' || user?.role === 'writer';
const byWriters = { read: isWriter, create: isWriter, update: isWriter, delete: isWriter };

/** A newsroom: a collection with a field of each of the 21 types, and people who may do more and less. */
export const newsroom: Config = {
  admin: { title: 'The Daily' },
  keys: ({ user }) => user?.role === 'chief',
  audit: ({ user, apiKey }) =>
    apiKey !== null || user?.role === 'chief' || (user?.role === 'writer' && ['headers', 'payloads']),
  collections: [
    {
      slug: 'articles',
      labels: { singular: 'Article', plural: 'Articles' },
      access: byWriters,
      admin: { group: 'Paper', useAsTitle: 'title', description: 'The articles of the paper.' },
      fields: [
        { name: 'title', type: 'text', required: true, minLength: 3, maxLength: 80 },
        {
          name: 'slug',
          type: 'text',
          unique: true,
          pattern: '[a-z0-9-]*',
          admin: { displayAs: 'slug', from: 'title' },
        },
        { name: 'teaser', type: 'textarea', maxLength: 300 },
        { name: 'body', type: 'richText' },
        { name: 'contact', type: 'email' },
        { name: 'source', type: 'url' },
        { name: 'words', type: 'number', integer: true, min: 0, max: 100_000 },
        { name: 'featured', type: 'boolean', required: true, defaultValue: false },
        { name: 'date', type: 'date' },
        { name: 'embargo', type: 'datetime' },
        { name: 'deadline', type: 'time' },
        { name: 'status', type: 'select', options: ['draft', 'published'], defaultValue: 'draft' },
        { name: 'tags', type: 'multiSelect', options: ['home', 'world', 'sport'] },
        { name: 'length', type: 'radio', options: ['short', 'long'] },
        { name: 'picture', type: 'upload', relationTo: 'pictures' },
        { name: 'authors', type: 'relationship', relationTo: 'authors', hasMany: true },
        {
          name: 'links',
          type: 'array',
          fields: [
            { name: 'label', type: 'text', required: true },
            { name: 'url', type: 'url', required: true },
          ],
        },
        { name: 'seo', type: 'object', fields: [{ name: 'description', type: 'text', maxLength: 160 }] },
        {
          type: 'row',
          fields: [
            { name: 'section', type: 'text' },
            { name: 'page', type: 'number' },
          ],
        },
        {
          name: 'parts',
          type: 'blocks',
          blocks: [
            { slug: 'quote', fields: [{ name: 'words', type: 'textarea', required: true }] },
            { slug: 'box', fields: [{ name: 'title', type: 'text', required: true }] },
          ],
        },
        { name: 'raw', type: 'json' },
      ],
    },
    {
      slug: 'authors',
      labels: { singular: 'Author', plural: 'Authors' },
      access: { ...byWriters, read: ({ user }) => user !== null },
      admin: { group: 'Paper' },
      fields: [
        { name: 'name', type: 'text', required: true },
        { name: 'articles', type: 'join', collection: 'articles', on: 'authors' },
      ],
    },
    {
      slug: 'pictures',
      labels: { singular: 'Picture', plural: 'Pictures' },
      upload: { maxFileSize: 100_000, mimeTypes: ['image/*'] },
      access: { ...byWriters, read: isWriter },
      fields: [{ name: 'alt', type: 'text', required: true }],
    },
    {
      slug: 'editors',
      labels: { singular: 'Editor', plural: 'Editors' },
      auth: { maxLoginAttempts: 3, useAPIKey: true },
      access: { read: isChief, create: isChief, update: isChief, delete: isChief },
      hooks: {
        beforeChange: ({ data, operation, req }) =>
          operation === 'create' && req.path.endsWith('/first-user') ? { ...data, role: 'chief' } : data,
      },
      fields: [
        { name: 'name', type: 'text' },
        {
          name: 'role',
          type: 'select',
          options: ['chief', 'writer', 'reader'],
          required: true,
          defaultValue: 'reader',
        },
      ],
    },
  ],
  globals: [
    {
      slug: 'imprint',
      label: 'Imprint',
      access: { read: isWriter, update: isChief },
      fields: [{ name: 'text', type: 'textarea' }],
    },
  ],
  rateLimit: false,
  bcryptCost: 4,
};

/** A user of the newsroom with this role. */
export async function addEditor(
  service: Pick<Service, 'call'>,
  role: 'chief' | 'writer' | 'reader',
  email = `${role}@example.org`,
): Promise<Credentials> {
  const user = { collection: chief.collection, email, password: chief.password };
  const { status, body } = await service.call('POST', '/api/collections/editors', {
    email,
    password: user.password,
    role,
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return user;
}
