import { defineConfig } from '../../config/define.ts';
import type { AccessArgs } from '../../config/model.ts';

export { importAtlas as seed } from './import.ts';

const isEditor = ({ user }: AccessArgs) => user?.collection === 'editors';
const isChief = ({ user }: Pick<AccessArgs, 'user'>) => user?.collection === 'editors' && user.role === 'chief';

/** Everybody reads, editors write, and what is gone is for a chief to decide. The words stand in the log. */
const access = {
  read: () => true,
  create: { rule: isEditor, description: 'Editors' },
  update: { rule: isEditor, description: 'Editors' },
  delete: { rule: isChief, description: 'Editors who are chiefs' },
};

/** The countries of the world with their languages, currencies, borders and flags: real data, see README.md. */
export default defineConfig({
  publicSchema: true,
  keys: isChief,
  collections: [
    {
      slug: 'countries',
      labels: { singular: 'Country', plural: 'Countries' },
      access,
      fields: [
        { name: 'name', type: 'text', required: true, unique: true, maxLength: 100 },
        { name: 'officialName', type: 'text', required: true, maxLength: 200 },
        { name: 'code', type: 'text', label: 'ISO 3166-1 alpha-3', required: true, unique: true, pattern: '[A-Z]{3}' },
        {
          name: 'alpha2',
          type: 'text',
          label: 'ISO 3166-1 alpha-2',
          required: true,
          unique: true,
          pattern: '[A-Z]{2}',
        },
        { name: 'numeric', type: 'text', label: 'ISO 3166-1 numeric', unique: true, pattern: '[0-9]{3}' },
        { name: 'flag', type: 'upload', relationTo: 'flags' },
        { name: 'emoji', type: 'text', label: 'Flag as an emoji', maxLength: 8 },
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
        },
        {
          name: 'independent',
          type: 'boolean',
          index: true,
          admin: { description: 'Whether ISO 3166-1 calls it a sovereign state; empty where that is disputed.' },
        },
        { name: 'unMember', type: 'boolean', label: 'Member of the United Nations', required: true, index: true },
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
        },
        { name: 'landlocked', type: 'boolean', required: true, index: true },
        { name: 'area', type: 'number', label: 'Land area (km²)', min: 0, index: true },
        {
          name: 'location',
          type: 'object',
          required: true,
          fields: [
            { name: 'latitude', type: 'number', required: true, min: -90, max: 90 },
            { name: 'longitude', type: 'number', required: true, min: -180, max: 180 },
          ],
        },
        { name: 'region', type: 'relationship', relationTo: 'regions', required: true, index: true },
        { name: 'subregion', type: 'relationship', relationTo: 'subregions', index: true },
        { name: 'languages', type: 'relationship', relationTo: 'languages', hasMany: true },
        { name: 'currencies', type: 'relationship', relationTo: 'currencies', hasMany: true },
        { name: 'borders', type: 'relationship', relationTo: 'countries', hasMany: true },
        {
          name: 'capitals',
          type: 'array',
          fields: [{ name: 'name', type: 'text', required: true, maxLength: 100 }],
        },
        {
          name: 'nativeNames',
          type: 'array',
          fields: [
            { name: 'language', type: 'text', label: 'ISO 639-3', required: true, pattern: '[a-z]{3}' },
            { name: 'common', type: 'text', required: true, maxLength: 200 },
            { name: 'official', type: 'text', required: true, maxLength: 200 },
          ],
        },
        {
          name: 'demonyms',
          type: 'object',
          label: 'Names of its people',
          fields: [
            { name: 'english', type: 'text', maxLength: 100 },
            { name: 'frenchFeminine', type: 'text', maxLength: 100 },
            { name: 'frenchMasculine', type: 'text', maxLength: 100 },
          ],
        },
        {
          name: 'dialling',
          type: 'object',
          admin: { description: 'A number begins with the root and one of the suffixes.' },
          fields: [
            { name: 'root', type: 'text', required: true, pattern: '\\+[1-9]' },
            { name: 'suffixes', type: 'json' },
          ],
        },
        { name: 'domains', type: 'json', label: 'Top-level domains' },
      ],
    },
    {
      slug: 'regions',
      labels: { singular: 'Region', plural: 'Regions' },
      access,
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
      fields: [
        { name: 'name', type: 'text', required: true, index: true, maxLength: 100 },
        { name: 'code', type: 'text', label: 'ISO 639-3', required: true, unique: true, pattern: '[a-z]{3}' },
        { name: 'countries', type: 'join', collection: 'countries', on: 'languages' },
      ],
    },
    {
      slug: 'currencies',
      labels: { singular: 'Currency', plural: 'Currencies' },
      access,
      fields: [
        { name: 'name', type: 'text', required: true, index: true, maxLength: 100 },
        { name: 'code', type: 'text', label: 'ISO 4217', required: true, unique: true, pattern: '[A-Z]{3}' },
        { name: 'symbol', type: 'text', maxLength: 20 },
        { name: 'countries', type: 'join', collection: 'countries', on: 'currencies' },
      ],
    },
    {
      slug: 'flags',
      labels: { singular: 'Flag', plural: 'Flags' },
      upload: { maxFileSize: 1_000_000, mimeTypes: ['image/*'] },
      access,
      fields: [
        { name: 'code', type: 'text', label: 'ISO 3166-1 alpha-3', required: true, unique: true, pattern: '[A-Z]{3}' },
        { name: 'alt', type: 'text', label: 'Alternative text', required: true, maxLength: 200 },
        { name: 'countries', type: 'join', collection: 'countries', on: 'flag' },
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
      access: { read: () => true, update: isEditor },
      fields: [
        { name: 'title', type: 'text', required: true, defaultValue: 'Atlas', maxLength: 100 },
        { name: 'description', type: 'textarea', maxLength: 1000 },
        {
          name: 'source',
          type: 'object',
          fields: [
            { name: 'name', type: 'text', required: true },
            { name: 'url', type: 'url', required: true },
            { name: 'licence', type: 'text', required: true },
            { name: 'licenceUrl', type: 'url', required: true },
            { name: 'attribution', type: 'textarea', required: true },
          ],
        },
      ],
    },
  ],
});
