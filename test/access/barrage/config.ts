import type { Config } from '../../../config/define.ts';
import type { AccessArgs, User } from '../../../config/model.ts';
import { canary } from './canaries.ts';

type Asked = { user: User | null };

const isOf = ({ user }: Asked, ...slugs: string[]) => user !== null && slugs.includes(user.collection);
const isAdmin = (args: Asked) => isOf(args, 'admins');
const isEditor = (args: Asked) => isOf(args, 'admins', 'editors');
const yes = () => true;
const no = () => false;
const title = { name: 'title', type: 'text', index: true } as const;
const plain = { name: 'title', type: 'text' } as const;
const writers = { create: isEditor, update: isEditor, delete: isEditor };

/** Rows and fields that are hidden in each way there is, of users who differ in trust. */
export const config = {
  bcryptCost: 4,
  rateLimit: false,
  audit: (args) => isOf(args, 'auditors'),
  keys: ({ user, apiKey }) => apiKey !== null || user?.role === 'keys',
  collections: [
    { slug: 'admins', auth: true, fields: [title] },
    {
      slug: 'editors',
      auth: true,
      fields: [{ name: 'role', type: 'select', options: ['keys', 'texts'], access: { update: isAdmin } }],
    },
    { slug: 'auditors', auth: true, fields: [] },
    {
      slug: 'members',
      auth: { useAPIKey: true },
      access: { create: yes },
      fields: [
        { name: 'nick', type: 'text', unique: true },
        { name: 'note', type: 'text', access: { read: no } },
      ],
    },
    {
      slug: 'posts',
      admin: { searchFields: ['title', 'secret', 'notes', 'inside.hint'], useAsTitle: 'title' },
      access: { read: (args) => isEditor(args) || { status: { equals: 'open' } }, ...writers },
      fields: [
        title,
        { name: 'status', type: 'select', options: ['open', 'draft'], defaultValue: 'draft', index: true },
        { name: 'notes', type: 'text', index: true, access: { read: isEditor } },
        { name: 'secret', type: 'text', unique: true, access: { read: no, create: no, update: no } },
        { name: 'looked', type: 'text', access: { read: ({ doc, user }) => user !== null && doc?.status === 'never' } },
        { name: 'masked', type: 'text', hooks: { afterRead: () => 'masked' } },
        { name: 'n', type: 'number' },
        { name: 'inside', type: 'object', fields: [plain, { name: 'hint', type: 'text', access: { read: no } }] },
        { name: 'rows', type: 'array', fields: [plain, { name: 'hidden', type: 'text', access: { read: no } }] },
        {
          name: 'parts',
          type: 'blocks',
          blocks: [{ slug: 'part', fields: [{ name: 'word', type: 'text', access: { read: no } }] }],
        },
        { name: 'data', type: 'json', access: { read: no } },
        { name: 'author', type: 'relationship', relationTo: 'people' },
        { name: 'vault', type: 'relationship', relationTo: 'vaults', hasMany: true },
        { name: 'file', type: 'upload', relationTo: 'files' },
      ],
    },
    {
      slug: 'people',
      admin: { searchFields: ['title'] },
      access: { read: ({ user, doc }: AccessArgs) => isEditor({ user }) || doc?.isOpen === true, ...writers },
      fields: [
        title,
        { name: 'isOpen', type: 'boolean' },
        { name: 'pay', type: 'text', access: { read: isAdmin } },
        { name: 'posts', type: 'join', collection: 'posts', on: 'author' },
      ],
    },
    { slug: 'articles', drafts: true, access: { read: yes, ...writers }, fields: [title] },
    {
      slug: 'vaults',
      admin: { searchFields: ['title'] },
      access: { read: isAdmin, create: isAdmin, update: isAdmin, delete: isAdmin },
      fields: [title],
    },
    {
      slug: 'files',
      upload: true,
      access: { read: (args) => isEditor(args) || { isOpen: { equals: true } }, ...writers },
      fields: [title, { name: 'isOpen', type: 'boolean' }],
    },
  ],
  globals: [
    {
      slug: 'site',
      access: { read: yes, update: isEditor },
      fields: [title, { name: 'hidden', type: 'text', access: { read: no } }],
    },
    { slug: 'closed', access: { read: isAdmin, update: isAdmin }, fields: [title] },
  ],
  webhooks: [
    {
      name: 'front',
      url: `http://127.0.0.1:9/${canary('webhookUrl')}`,
      secret: `whsec_${Buffer.from(canary('webhookSecret').padEnd(32, 'x')).toString('base64')}`,
      collections: ['posts'],
    },
  ],
} satisfies Config;
