import assert from 'node:assert/strict';
import type { Config } from '../../config/define.ts';
import type { AccessArgs } from '../../config/model.ts';
import type { Service } from '../helpers/service.ts';
import { type Credentials, chief } from './helpers.ts';

const has =
  (...roles: string[]) =>
  ({ user }: AccessArgs) =>
    user !== null && roles.includes(String(user.role));
const isEditor = has('chief', 'writer');

/**
 * A desk whose posts, authors and imprint have drafts. The chief publishes; the writer saves drafts and does not
 * publish; the shop changes prices, which publishes, and reads no drafts.
 */
export const desk: Config = {
  admin: { title: 'The Desk' },
  audit: ({ user, apiKey }) => apiKey !== null || user?.role === 'chief',
  collections: [
    {
      slug: 'posts',
      labels: { singular: 'Post', plural: 'Posts' },
      drafts: true,
      access: {
        read: () => true,
        create: isEditor,
        update: has('chief', 'writer', 'shop'),
        delete: isEditor,
        readDrafts: isEditor,
        publish: has('chief', 'shop'),
      },
      admin: { useAsTitle: 'title' },
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'slug', type: 'text', unique: true },
        { name: 'body', type: 'textarea' },
        { name: 'price', type: 'number', required: true, min: 0 },
        { name: 'author', type: 'relationship', relationTo: 'authors' },
      ],
    },
    {
      slug: 'authors',
      labels: { singular: 'Author', plural: 'Authors' },
      drafts: true,
      access: {
        read: () => true,
        create: isEditor,
        update: isEditor,
        delete: isEditor,
        readDrafts: isEditor,
        publish: has('chief'),
      },
      fields: [{ name: 'name', type: 'text', required: true }],
    },
    {
      slug: 'editors',
      labels: { singular: 'Editor', plural: 'Editors' },
      auth: { useAPIKey: true },
      access: { read: ({ user }) => user !== null, create: has('chief'), update: has('chief'), delete: has('chief') },
      hooks: {
        beforeChange: ({ data, operation, req }) =>
          operation === 'create' && req.path.endsWith('/first-user') ? { ...data, role: 'chief' } : data,
      },
      fields: [
        { name: 'name', type: 'text' },
        { name: 'role', type: 'select', options: ['chief', 'writer', 'shop'], required: true, defaultValue: 'writer' },
      ],
    },
  ],
  globals: [
    {
      slug: 'imprint',
      label: 'Imprint',
      drafts: true,
      access: { read: () => true, update: isEditor, readDrafts: isEditor, publish: has('chief') },
      fields: [{ name: 'text', type: 'textarea' }],
    },
  ],
  rateLimit: false,
  bcryptCost: 4,
};

/** A user of the desk with this role. */
export async function addPerson(
  service: Pick<Service, 'call'>,
  role: 'chief' | 'writer' | 'shop',
  email = `${role}@example.org`,
): Promise<Credentials> {
  const user = { collection: chief.collection, email, password: chief.password };
  const { password } = user;
  const { status, body } = await service.call('POST', '/api/collections/editors', { email, password, role });
  assert.equal(status, 201, JSON.stringify(body));
  return user;
}
