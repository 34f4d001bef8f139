import { defineConfig } from '../../config/define.ts';
import type { AccessArgs } from '../../config/model.ts';

export { importAtlas as seed } from './import.ts';

const isEditor = ({ user }: AccessArgs) => user?.collection === 'editors';
const isChief = ({ user }: Pick<AccessArgs, 'user'>) => user?.collection === 'editors' && user.role === 'chief';

/** Everyone may read, editors may write, chiefs may delete. The log records the descriptions. */
const access = {
  read: () => true,
  create: { rule: isEditor, description: 'Editors' },
  update: { rule: isEditor, description: 'Editors' },
  delete: { rule: isChief, description: 'Editors who are chiefs' },
};

/** Shows a field in the column at the side of the form. */
const side = { position: 'side' } as const;

/**
 * The countries of the world with their languages, currencies, borders and flags, and stories about them: real data,
 * see README.md.
 */
export default defineConfig({
  publicSchema: true,
  // `apiKey` is that of the environment: keys that were made never make others.
  keys: ({ user, apiKey }) => apiKey !== null || isChief({ user }),
  collections: [
    {
      slug: 'countries',
      labels: { singular: 'Country', plural: 'Countries' },
      access,
      admin: {
        group: 'World',
        description: 'The countries and territories of ISO 3166-1, and Kosovo.',
        useAsTitle: 'name',
        defaultColumns: ['name', 'flag', 'code', 'region', 'area', 'landlocked'],
        defaultSort: 'name',
        pageSize: 25,
      },
      fields: [
        { name: 'name', type: 'text', required: true, unique: true, maxLength: 100, admin: { width: 'half' } },
        {
          name: 'officialName',
          type: 'text',
          required: true,
          maxLength: 200,
          admin: { width: 'half' },
        },
        { name: 'flag', type: 'upload', relationTo: 'flags', admin: side },
        { name: 'emoji', type: 'text', label: 'Flag as an emoji', maxLength: 8, admin: side },
        {
          name: 'code',
          type: 'text',
          label: 'ISO 3166-1 alpha-3',
          required: true,
          unique: true,
          pattern: '[A-Z]{3}',
          admin: side,
        },
        {
          name: 'alpha2',
          type: 'text',
          label: 'ISO 3166-1 alpha-2',
          required: true,
          unique: true,
          pattern: '[A-Z]{2}',
          admin: side,
        },
        { name: 'numeric', type: 'text', label: 'ISO 3166-1 numeric', unique: true, pattern: '[0-9]{3}', admin: side },
        {
          name: 'status',
          type: 'select',
          label: 'ISO 3166-1 assignment',
          required: true,
          index: true,
          options: [
            { label: 'Officially assigned', value: 'officially-assigned' },
            { label: 'User-assigned', value: 'user-assigned' },
          ],
          defaultValue: 'officially-assigned',
          admin: side,
        },
        {
          name: 'region',
          type: 'relationship',
          relationTo: 'regions',
          required: true,
          index: true,
          admin: { tab: 'Geography', width: 'half' },
        },
        {
          name: 'subregion',
          type: 'relationship',
          relationTo: 'subregions',
          index: true,
          admin: { tab: 'Geography', width: 'half' },
        },
        {
          name: 'capitals',
          type: 'array',
          fields: [{ name: 'name', type: 'text', required: true, maxLength: 100 }],
          admin: { tab: 'Geography', summary: 'name' },
        },
        {
          name: 'borders',
          type: 'relationship',
          relationTo: 'countries',
          hasMany: true,
          admin: { tab: 'Geography', description: 'The countries that it has a land border with.' },
        },
        {
          name: 'area',
          type: 'number',
          label: 'Land area (km²)',
          min: 0,
          index: true,
          admin: { tab: 'Geography', width: 'half' },
        },
        {
          name: 'landlocked',
          type: 'boolean',
          required: true,
          index: true,
          admin: { tab: 'Geography', width: 'half' },
        },
        {
          name: 'location',
          type: 'object',
          required: true,
          fields: [
            { name: 'latitude', type: 'number', required: true, min: -90, max: 90, admin: { width: 'half' } },
            { name: 'longitude', type: 'number', required: true, min: -180, max: 180, admin: { width: 'half' } },
          ],
          admin: { tab: 'Geography' },
        },
        {
          name: 'independent',
          type: 'boolean',
          index: true,
          admin: {
            tab: 'Politics',
            description: 'Whether ISO 3166-1 calls it a sovereign state; empty where that is disputed.',
          },
        },
        {
          name: 'unMember',
          type: 'boolean',
          label: 'Member of the United Nations',
          required: true,
          index: true,
          admin: { tab: 'Politics' },
        },
        {
          name: 'unGroup',
          type: 'select',
          label: 'Regional group of the United Nations',
          index: true,
          options: [
            'African Group',
            'Asia and the Pacific Group',
            'Eastern European Group',
            'Latin American and Caribbean Group',
            'Western European and Others Group',
          ],
          admin: { tab: 'Politics' },
        },
        {
          name: 'currencies',
          type: 'relationship',
          relationTo: 'currencies',
          hasMany: true,
          admin: { tab: 'Politics' },
        },
        {
          name: 'dialling',
          type: 'object',
          fields: [
            { name: 'root', type: 'text', required: true, pattern: '\\+[1-9]', admin: { width: 'third' } },
            { name: 'suffixes', type: 'json', admin: { width: 'two-thirds', rows: 3 } },
          ],
          admin: { tab: 'Politics', description: 'A number begins with the root and one of the suffixes.' },
        },
        { name: 'domains', type: 'json', label: 'Top-level domains', admin: { tab: 'Politics', rows: 3 } },
        {
          name: 'languages',
          type: 'relationship',
          relationTo: 'languages',
          hasMany: true,
          admin: { tab: 'Languages and names' },
        },
        {
          name: 'nativeNames',
          type: 'array',
          fields: [
            {
              name: 'language',
              type: 'text',
              label: 'ISO 639-3',
              required: true,
              pattern: '[a-z]{3}',
              admin: { width: 'quarter' },
            },
            { name: 'common', type: 'text', required: true, maxLength: 200, admin: { width: 'three-quarters' } },
            { name: 'official', type: 'text', required: true, maxLength: 200 },
          ],
          admin: { tab: 'Languages and names', summary: 'common' },
        },
        {
          name: 'demonyms',
          type: 'object',
          label: 'Names of its people',
          fields: [
            { name: 'english', type: 'text', maxLength: 100, admin: { width: 'third' } },
            { name: 'frenchFeminine', type: 'text', maxLength: 100, admin: { width: 'third' } },
            { name: 'frenchMasculine', type: 'text', maxLength: 100, admin: { width: 'third' } },
          ],
          admin: { tab: 'Languages and names' },
        },
      ],
    },
    {
      slug: 'regions',
      labels: { singular: 'Region', plural: 'Regions' },
      access,
      admin: { group: 'World', defaultColumns: ['name'], defaultSort: 'name' },
      fields: [
        { name: 'name', type: 'text', required: true, unique: true, maxLength: 100 },
        { name: 'subregions', type: 'join', collection: 'subregions', on: 'region' },
        { name: 'countries', type: 'join', collection: 'countries', on: 'region' },
      ],
    },
    {
      slug: 'subregions',
      labels: { singular: 'Subregion', plural: 'Subregions' },
      access,
      admin: { group: 'World', defaultColumns: ['name', 'region'], defaultSort: 'name' },
      fields: [
        { name: 'name', type: 'text', required: true, unique: true, maxLength: 100 },
        { name: 'region', type: 'relationship', relationTo: 'regions', required: true, index: true },
        { name: 'countries', type: 'join', collection: 'countries', on: 'subregion' },
      ],
    },
    {
      slug: 'languages',
      labels: { singular: 'Language', plural: 'Languages' },
      access,
      admin: { group: 'World', defaultColumns: ['name', 'code'], defaultSort: 'name' },
      fields: [
        { name: 'name', type: 'text', required: true, index: true, maxLength: 100, admin: { width: 'two-thirds' } },
        {
          name: 'code',
          type: 'text',
          label: 'ISO 639-3',
          required: true,
          unique: true,
          pattern: '[a-z]{3}',
          admin: { width: 'third' },
        },
        { name: 'countries', type: 'join', collection: 'countries', on: 'languages' },
      ],
    },
    {
      slug: 'currencies',
      labels: { singular: 'Currency', plural: 'Currencies' },
      access,
      admin: { group: 'World', defaultColumns: ['name', 'code', 'symbol'], defaultSort: 'name' },
      fields: [
        { name: 'name', type: 'text', required: true, index: true, maxLength: 100 },
        {
          name: 'code',
          type: 'text',
          label: 'ISO 4217',
          required: true,
          unique: true,
          pattern: '[A-Z]{3}',
          admin: { width: 'half' },
        },
        { name: 'symbol', type: 'text', maxLength: 20, admin: { width: 'half' } },
        { name: 'countries', type: 'join', collection: 'countries', on: 'currencies' },
      ],
    },
    {
      slug: 'flags',
      labels: { singular: 'Flag', plural: 'Flags' },
      upload: { maxFileSize: 1_000_000, mimeTypes: ['image/*'] },
      access,
      admin: { group: 'World', useAsTitle: 'alt', defaultSort: 'code' },
      fields: [
        { name: 'code', type: 'text', label: 'ISO 3166-1 alpha-3', required: true, unique: true, pattern: '[A-Z]{3}' },
        { name: 'alt', type: 'text', label: 'Alternative text', required: true, maxLength: 200 },
        { name: 'countries', type: 'join', collection: 'countries', on: 'flag' },
      ],
    },
    {
      slug: 'stories',
      labels: { singular: 'Story', plural: 'Stories' },
      access: { ...access, read: (args) => isEditor(args) || { status: { equals: 'published' } } },
      admin: {
        group: 'Writing',
        description: 'Articles about countries. Drafts are for editors alone.',
        useAsTitle: 'title',
        searchFields: ['title', 'intro', 'text'],
        defaultColumns: ['title', 'cover', 'status', 'publishedOn', 'author'],
        defaultSort: '-publishedOn',
      },
      fields: [
        { name: 'title', type: 'text', required: true, maxLength: 120 },
        {
          name: 'slug',
          type: 'text',
          label: 'Address',
          required: true,
          unique: true,
          maxLength: 120,
          pattern: '[a-z0-9]+(-[a-z0-9]+)*',
          admin: { displayAs: 'slug', from: 'title' },
        },
        { name: 'intro', type: 'textarea', label: 'Introduction', maxLength: 300, admin: { rows: 2 } },
        { name: 'text', type: 'richText', admin: { rows: 12 } },
        {
          name: 'sections',
          type: 'blocks',
          admin: { summary: 'caption', description: 'Parts below the text, in this order.' },
          blocks: [
            {
              slug: 'picture',
              label: 'Picture',
              fields: [
                { name: 'picture', type: 'upload', relationTo: 'flags', required: true },
                { name: 'caption', type: 'text', maxLength: 200 },
              ],
            },
            {
              slug: 'quote',
              label: 'Quotation',
              fields: [
                { name: 'words', type: 'textarea', required: true, maxLength: 500 },
                { name: 'caption', type: 'text', label: 'Source', maxLength: 200 },
              ],
            },
            {
              slug: 'facts',
              label: 'Facts',
              fields: [
                { name: 'caption', type: 'text', label: 'Title', required: true, maxLength: 100 },
                {
                  name: 'facts',
                  type: 'array',
                  admin: { summary: 'label' },
                  fields: [
                    { name: 'label', type: 'text', required: true, maxLength: 100, admin: { width: 'half' } },
                    { name: 'value', type: 'text', required: true, maxLength: 200, admin: { width: 'half' } },
                  ],
                },
              ],
            },
          ],
        },
        {
          name: 'status',
          type: 'radio',
          required: true,
          index: true,
          options: [
            { label: 'Draft', value: 'draft' },
            { label: 'Published', value: 'published' },
          ],
          defaultValue: 'draft',
          admin: side,
        },
        {
          name: 'publishedOn',
          type: 'date',
          index: true,
          admin: { ...side, condition: { status: { equals: 'published' } } },
        },
        { name: 'author', type: 'relationship', relationTo: 'editors', admin: side },
        { name: 'countries', type: 'relationship', relationTo: 'countries', hasMany: true, admin: side },
        { name: 'cover', type: 'upload', relationTo: 'flags', admin: side },
      ],
    },
    {
      slug: 'editors',
      labels: { singular: 'Editor', plural: 'Editors' },
      auth: { useAPIKey: true },
      access: {
        read: isEditor,
        create: isChief,
        update: (args) => isChief(args) || (isEditor(args) && { id: { equals: String(args.user?.id) } }),
        delete: isChief,
      },
      hooks: {
        // The first user, created with the setup token or the API key, becomes the first chief.
        beforeChange: ({ data, operation, req }) =>
          operation === 'create' && req.path.endsWith('/first-user') ? { ...data, role: 'chief' } : data,
      },
      fields: [
        { name: 'name', type: 'text', maxLength: 100 },
        {
          name: 'role',
          type: 'select',
          required: true,
          options: ['editor', 'chief'],
          defaultValue: 'editor',
          access: { create: isChief, update: isChief },
        },
      ],
    },
  ],
  globals: [
    {
      slug: 'site',
      label: 'Site',
      admin: { group: 'Writing', description: 'The name of the site, and the sources of its data.' },
      access: { read: () => true, update: isEditor },
      fields: [
        { name: 'title', type: 'text', required: true, defaultValue: 'Atlas', maxLength: 100 },
        { name: 'description', type: 'textarea', maxLength: 1000 },
        {
          name: 'source',
          type: 'object',
          fields: [
            { name: 'name', type: 'text', required: true, admin: { width: 'half' } },
            { name: 'url', type: 'url', label: 'URL', required: true, admin: { width: 'half' } },
            { name: 'licence', type: 'text', required: true, admin: { width: 'half' } },
            { name: 'licenceUrl', type: 'url', label: 'URL of the licence', required: true, admin: { width: 'half' } },
            { name: 'attribution', type: 'textarea', required: true },
          ],
        },
      ],
    },
  ],
});
