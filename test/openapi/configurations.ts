const open = { read: () => true };
export const text = { name: 'text', type: 'text' };
const inside = [
  { name: 'a', type: 'text', required: true },
  { name: 'b', type: 'number', defaultValue: 1 },
];

/** Every type of field that there can be today, wide open and otherwise; without accounts. */
export const keysOnly = {
  collections: [
    {
      slug: 'things',
      labels: { singular: 'Thing', plural: 'Things' },
      access: open,
      fields: [
        { name: 'text', type: 'text', required: true, maxLength: 50, label: 'A text' },
        { name: 'code', type: 'text', unique: true, pattern: '[a-z]+' },
        { name: 'textarea', type: 'textarea' },
        { name: 'rich', type: 'richText' },
        { name: 'email', type: 'email' },
        { name: 'url', type: 'url' },
        { name: 'number', type: 'number', min: 0, max: 10 },
        { name: 'integer', type: 'number', integer: true },
        { name: 'boolean', type: 'boolean' },
        { name: 'date', type: 'date' },
        { name: 'datetime', type: 'datetime' },
        { name: 'time', type: 'time' },
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
            { slug: 'one', fields: inside },
            { slug: 'two-b', fields: [{ name: 'to', type: 'relationship', relationTo: 'things' }] },
          ],
        },
        { name: 'json', type: 'json' },
        { name: 'photo', type: 'upload', relationTo: 'files' },
        { name: 'before', type: 'join', collection: 'things', on: 'other' },
        { name: 'latest', type: 'join', collection: 'things', on: 'other', limit: 3, sort: '-createdAt' },
        { type: 'row', fields: [{ name: 'inRow', type: 'text' }] },
      ],
    },
    {
      slug: 'ruled',
      access: {
        read: ({ data }: { data: unknown }) => data === null,
        create: () => {
          throw new Error('no');
        },
      },
      fields: [text, { name: 'secret', type: 'text', access: { read: () => false, update: () => false } }],
    },
    { slug: 'plain', fields: [text], hooks: { afterChange: () => {} } },
    {
      slug: 'hooked',
      access: { read: () => true, update: () => true },
      fields: [text],
      hooks: {
        beforeChange: ({ data }: { data: { text?: string } }) => {
          if (data.text === 'teapot') throw Object.assign(new Error('I am a teapot'), { statusCode: 418 });
          if (data.text === 'bug') throw new Error('a bug');
        },
      },
    },
    {
      slug: 'lawful',
      fields: [text],
      hooks: {
        afterRead: ({ data }: { data: { text?: string } }) => {
          if (data.text === 'secret') throw Object.assign(new Error('not for your eyes'), { statusCode: 451 });
        },
      },
    },
    {
      slug: 'files',
      access: open,
      upload: { maxFileSize: 2000, mimeTypes: ['text/*', 'image/svg+xml'] },
      fields: [
        { name: 'alt', type: 'text', required: true },
        { name: 'year', type: 'number', integer: true },
        { name: 'isOld', type: 'boolean' },
        { name: 'tags', type: 'multiSelect', options: ['a', 'b'] },
        { name: 'parts', type: 'array', fields: inside },
        { name: 'extra', type: 'json' },
      ],
    },
    { slug: 'near', fields: [{ name: 'lawful', type: 'relationship', relationTo: 'lawful' }] },
    {
      slug: 'far',
      fields: [
        text,
        { name: 'parts', type: 'object', fields: [{ name: 'near', type: 'relationship', relationTo: 'near' }] },
        { name: 'writable', type: 'text', access: { create: () => true, update: () => true } },
      ],
    },
    { slug: 'farther', fields: [{ name: 'fars', type: 'join', collection: 'pointing', on: 'to' }] },
    {
      slug: 'pointing',
      fields: [
        { name: 'to', type: 'relationship', relationTo: 'farther' },
        {
          name: 'blocks',
          type: 'blocks',
          blocks: [{ slug: 'one', fields: [{ name: 'far', type: 'relationship', relationTo: 'far' }] }],
        },
      ],
    },
    { slug: 'kept', fields: [text], hooks: { beforeDelete: () => {} } },
    {
      slug: 'fieldHooked',
      fields: [{ name: 'parts', type: 'array', fields: [{ ...text, hooks: { beforeChange: () => {} } }] }],
    },
  ],
  globals: [
    {
      slug: 'site',
      access: open,
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'theme', type: 'select', options: ['light', 'dark'], required: true, defaultValue: 'light' },
        { name: 'links', type: 'array', required: true, fields: inside },
        { name: 'home', type: 'relationship', relationTo: 'things' },
      ],
    },
    { slug: 'front', fields: [{ name: 'far', type: 'relationship', relationTo: 'far' }] },
  ],
};

/** `keysOnly` with accounts: one collection open to keys, one without a rule and a cookie. */
export const rich = {
  ...keysOnly,
  bcryptCost: 4,
  rateLimit: { address: 100_000, email: 8 },
  collections: [
    ...keysOnly.collections,
    {
      slug: 'users',
      auth: { useAPIKey: true, depth: 1, maxLoginAttempts: 2 },
      fields: [
        { name: 'name', type: 'text' },
        { name: 'code', type: 'text', unique: true },
        { name: 'role', type: 'select', options: ['a', 'b'], access: { create: () => false, update: () => false } },
        { name: 'near', type: 'relationship', relationTo: 'near' },
      ],
    },
    {
      slug: 'members',
      auth: { cookies: false },
      fields: [
        { name: 'nick', type: 'text', required: true },
        { name: 'token', type: 'text' },
      ],
    },
    { slug: 'staff', auth: true, fields: [] },
  ],
};

/** Drafts in every form. */
export const drafted = {
  collections: [
    { ...keysOnly.collections[0], drafts: true },
    ...keysOnly.collections.slice(1),
    {
      slug: 'strict',
      drafts: { validate: true, publishedAt: 'since' },
      requireReason: true,
      access: { publish: () => true },
      fields: [
        { name: 'title', type: 'text', required: true, unique: true },
        { name: 'since', type: 'datetime' },
      ],
    },
  ],
  globals: [{ slug: 'site', drafts: true, fields: [{ name: 'title', type: 'text', required: true }] }],
};
