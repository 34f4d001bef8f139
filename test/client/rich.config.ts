import { defineConfig } from '../../config/define.ts';

/** Every type of field, and every option that a type of the client depends on. `rich.types.ts` is made of it. */
export default defineConfig({
  bcryptCost: 4,
  collections: [
    {
      slug: 'posts',
      labels: { singular: 'Post', plural: 'Posts' },
      access: { read: () => true },
      fields: [
        { name: 'title', type: 'text', required: true, label: 'Title', admin: { description: 'Shown in lists.' } },
        { name: 'slug', type: 'text', unique: true },
        {
          name: 'status',
          type: 'select',
          required: true,
          options: ['draft', { label: 'Out there', value: 'published' }],
          defaultValue: 'draft',
        },
        {
          name: 'mood',
          type: 'radio',
          options: ["it's", 'so "so"', '*/'],
          label: 'Mood */ 1',
          admin: { description: 'a\nb' },
        },
        { name: 'tags', type: 'multiSelect', options: ['news', 'tech'] },
        { name: 'author', type: 'relationship', relationTo: 'authors', required: true },
        { name: 'editor', type: 'relationship', relationTo: 'authors' },
        { name: 'related', type: 'relationship', relationTo: 'posts', hasMany: true },
        { name: 'cover', type: 'upload', relationTo: 'pictures' },
        {
          type: 'row',
          fields: [
            { name: 'views', type: 'number', defaultValue: () => 0 },
            { name: 'isPinned', type: 'boolean', required: true, defaultValue: false },
            { type: 'row', fields: [{ name: 'site', type: 'url' }] },
          ],
        },
        { name: 'day', type: 'date' },
        { name: 'at', type: 'datetime' },
        { name: 'hour', type: 'time' },
        { name: 'body', type: 'richText', required: true },
        { name: 'extra', type: 'json' },
        { name: 'contact', type: 'email' },
        { name: 'notes', type: 'textarea', access: { read: ({ user }) => user !== null } },
        { name: 'log', type: 'textarea', access: { create: () => true, update: () => true } },
        {
          name: 'seo',
          type: 'object',
          fields: [
            { name: 'title', type: 'text', required: true },
            { name: 'hidden', type: 'boolean', access: { read: () => true } },
            { name: 'image', type: 'upload', relationTo: 'pictures' },
          ],
        },
        {
          name: 'settings',
          type: 'object',
          required: true,
          fields: [
            { name: 'layout', type: 'select', required: true, options: ['wide', 'narrow'], defaultValue: 'wide' },
            { name: 'colour', type: 'text' },
          ],
        },
        {
          name: 'links',
          type: 'array',
          fields: [
            { name: 'url', type: 'url', required: true },
            { name: 'to', type: 'relationship', relationTo: 'posts' },
          ],
        },
        {
          name: 'sections',
          type: 'blocks',
          blocks: [
            {
              slug: 'text',
              label: 'Text',
              fields: [
                { name: 'text', type: 'textarea', required: true },
                { name: 'size', type: 'select', options: ['s', 'm'] },
              ],
            },
            {
              slug: 'quote',
              fields: [
                { name: 'text', type: 'json' },
                { name: 'by', type: 'relationship', relationTo: 'authors', required: true },
                { name: 'people', type: 'relationship', relationTo: 'authors', hasMany: true },
              ],
            },
          ],
        },
      ],
    },
    {
      slug: 'authors',
      labels: { singular: 'Author', plural: 'Authors' },
      fields: [
        { name: 'name', type: 'text', required: true },
        { name: 'boss', type: 'relationship', relationTo: 'authors' },
        { name: 'posts', type: 'join', collection: 'posts', on: 'author' },
      ],
    },
    {
      slug: 'pictures',
      upload: { mimeTypes: ['text/plain', 'image/*'] },
      fields: [
        { name: 'alt', type: 'text', required: true },
        { name: 'by', type: 'relationship', relationTo: 'authors' },
      ],
    },
    {
      slug: 'members',
      auth: { useAPIKey: true, depth: 1 },
      fields: [
        { name: 'picture', type: 'upload', relationTo: 'pictures' },
        { name: 'role', type: 'select', options: ['chief', 'reader'], required: true },
        { name: 'constructor', type: 'text' },
      ],
    },
    {
      slug: 'post-create',
      drafts: true,
      auth: false,
      fields: [
        { name: 'x', type: 'number' },
        { name: 'nothing', type: 'object', fields: [] },
      ],
    },
  ],
  globals: [
    {
      slug: 'site',
      drafts: true,
      label: 'Site',
      fields: [
        { name: 'title', type: 'text', required: true, defaultValue: 'Mine' },
        { name: 'owner', type: 'relationship', relationTo: 'authors', required: true },
        { name: 'colours', type: 'multiSelect', required: true, options: ['red', 'green'] },
        {
          name: 'theme',
          type: 'object',
          required: true,
          fields: [{ name: 'dark', type: 'boolean', defaultValue: true }],
        },
        { name: 'secret', type: 'text', access: { read: () => false } },
        { name: 'mode', type: 'radio', required: true, options: ['on', 'off'] },
        { name: 'text', type: 'richText', required: true },
        { name: 'parts', type: 'blocks', blocks: [{ slug: 'empty', fields: [] }] },
      ],
    },
    { slug: 'post', fields: [{ name: 'x', type: 'number' }] },
  ],
});
