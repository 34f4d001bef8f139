import { defineConfig, type FieldConfig } from '../../config/define.ts';
import type { Hook } from '../../config/model.ts';

const open = { read: () => true };
const secret = `whsec_${'A'.repeat(43)}=`;
const text: FieldConfig = { name: 'text', type: 'text' };
const inside: FieldConfig[] = [
  { name: 'a', type: 'text', required: true },
  { name: 'b', type: 'number', defaultValue: 1 },
];

/** A request says by a header what a hook is to answer it with. */
const refuse: Hook = ({ req }) => {
  const status = req?.headers['x-refuse'];
  if (status) throw Object.assign(new Error('a hook says no'), { statusCode: Number(status) });
};

/**
 * A configuration with all that can be configured: every type of field, files, rules, hooks (on what is asked for, and
 * on what is related to it), a collection that wants reasons, one of users whose documents keys may read, one where
 * anybody may sign up.
 */
export default defineConfig({
  bcryptCost: 4,
  trustProxy: true,
  rateLimit: { address: 40, email: 100_000 },
  limits: { body: 50_000, bulkBody: 50_000 },
  admin: { logo: '/logo.svg' },
  richText: { features: ['bold', 'link'] },
  collections: [
    {
      slug: 'things',
      labels: { singular: 'Thing', plural: 'Things' },
      admin: { searchFields: ['text'] },
      access: open,
      fields: [
        {
          name: 'text',
          type: 'text',
          required: true,
          minLength: 1,
          maxLength: 50,
          label: 'A text',
          index: true,
          queryable: true,
        },
        { name: 'code', type: 'text', unique: true, pattern: '[a-z0-9]+' },
        { name: 'textarea', type: 'textarea', renamedFrom: 'words' },
        { name: 'rich', type: 'richText', richText: { features: ['italic'] } },
        { name: 'email', type: 'email' },
        { name: 'url', type: 'url' },
        { name: 'number', type: 'number', min: 0, max: 10 },
        { name: 'integer', type: 'number', integer: true },
        { name: 'boolean', type: 'boolean' },
        { name: 'date', type: 'date' },
        { name: 'datetime', type: 'datetime' },
        { name: 'time', type: 'time', admin: { description: 'By the clock on the wall', readOnly: true } },
        { name: 'select', type: 'select', options: ['a', { label: 'B', value: 'b' }], defaultValue: 'a' },
        { name: 'radio', type: 'radio', options: ['a', 'b'] },
        { name: 'multiSelect', type: 'multiSelect', options: ['a', 'b'] },
        { name: 'other', type: 'relationship', relationTo: 'things' },
        { name: 'others', type: 'relationship', relationTo: 'things', hasMany: true },
        { name: 'object', type: 'object', fields: inside },
        { name: 'array', type: 'array', fields: inside },
        {
          name: 'blocks',
          type: 'blocks',
          blocks: [
            { slug: 'one', label: 'One', fields: inside },
            { slug: 'two-b', fields: [{ name: 'to', type: 'relationship', relationTo: 'things' }] },
          ],
        },
        { name: 'json', type: 'json' },
        { name: 'photo', type: 'upload', relationTo: 'files' },
        { name: 'before', type: 'join', collection: 'things', on: 'other' },
        { name: 'latest', type: 'join', collection: 'things', on: 'other', limit: 2, sort: '-createdAt' },
        { type: 'row', fields: [{ name: 'inRow', type: 'text' }] },
        { name: 'secret', type: 'text', access: { read: ({ user }) => user !== null } },
      ],
    },
    {
      slug: 'hooked',
      queryable: true,
      access: { read: () => true, update: () => true },
      fields: [text],
      hooks: { beforeChange: refuse, beforeDelete: refuse, afterRead: refuse },
    },
    { slug: 'near', fields: [text, { name: 'hooked', type: 'relationship', relationTo: 'hooked' }] },
    { slug: 'reasoned', requireReason: true, history: 'public', fields: [text] },
    {
      slug: 'files',
      access: open,
      upload: { maxFileSize: 2000, mimeTypes: ['text/*', 'image/*'] },
      fields: [
        { name: 'alt', type: 'text', required: true },
        { name: 'year', type: 'number', integer: true },
        { name: 'isOld', type: 'boolean' },
        { name: 'tags', type: 'multiSelect', options: ['a', 'b'] },
        { name: 'parts', type: 'array', fields: inside },
        { name: 'extra', type: 'json' },
      ],
    },
    {
      slug: 'users',
      labels: { singular: 'User', plural: 'Users' },
      auth: { useAPIKey: true, depth: 1, maxLoginAttempts: 2 },
      fields: [
        { name: 'name', type: 'text' },
        { name: 'code', type: 'text', unique: true },
        { name: 'role', type: 'select', options: ['a', 'b'], access: { create: () => false, update: () => false } },
        { name: 'hooked', type: 'relationship', relationTo: 'hooked' },
      ],
      hooks: { beforeChange: refuse },
    },
    {
      slug: 'members',
      queryable: true,
      auth: { cookies: false },
      access: { create: ({ req }) => req.headers['x-refuse'] !== '403' },
      fields: [
        { name: 'nick', type: 'text', required: true },
        { name: 'token', type: 'text' },
      ],
      hooks: { afterRead: refuse },
    },
  ],
  webhooks: [
    // The address refuses connections, so that deliveries wait.
    { name: 'front', url: 'http://127.0.0.1:9/', secret, collections: ['things'], where: { code: { exists: true } } },
    { name: 'site', url: 'http://127.0.0.1:9/', secret, globals: ['site'] },
    { name: 'all', url: process.env.RECEIVER ?? 'http://127.0.0.1:9/', secret, allowPrivate: true },
  ],
  globals: [
    {
      slug: 'site',
      label: 'The site',
      access: { read: ({ req }) => req.headers['x-refuse'] !== '403' },
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'theme', type: 'select', options: ['light', 'dark'], required: true, defaultValue: 'light' },
        { name: 'links', type: 'array', required: true, fields: inside },
        { name: 'home', type: 'relationship', relationTo: 'things' },
      ],
    },
    { slug: 'front', fields: [text, { name: 'near', type: 'relationship', relationTo: 'near' }] },
  ],
});

/** Asks the service about itself during its first load, and prints what it is answered. */
export async function seed({ baseUrl }: { baseUrl: string }): Promise<void> {
  const response = await fetch(`${baseUrl}/ready`);
  const { status, headers } = response;
  console.log('/ready', JSON.stringify({ status, headers: [...headers], body: await response.json() }));
}
