import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import { defineConfig } from '../../config/define.ts';

describe('defineConfig', () => {
  it('knows the types of options and functions, keeps literals, and what it takes passes the check', () => {
    const config = defineConfig({
      publicSchema: true,
      releases: ({ user, apiKey, operation }) => operation === 'read' || user !== null || apiKey !== null,
      limits: { body: 1000 },
      openapi: { title: 'Blog', version: '1.0.0', description: 'Posts and their authors.' },
      collections: [
        {
          slug: 'posts',
          labels: { singular: 'Post', plural: 'Posts' },
          access: {
            read: () => true,
            update: { rule: ({ user, doc }) => user?.id === doc?.author, description: 'Authors' },
          },
          hooks: {
            beforeChange: [({ data }) => ({ ...data, seen: true })],
            afterChange: async ({ doc }) => {
              assert.ok(doc);
            },
          },
          fields: [
            {
              name: 'title',
              type: 'text',
              required: true,
              hooks: { beforeChange: ({ value }) => value },
              access: { read: { rule: ({ user }) => user !== null, description: 'Users' } },
            },
            { name: 'status', type: 'select', options: ['draft', { label: 'Out', value: 'published' }] },
            { name: 'tags', type: 'multiSelect', options: ['a'], defaultValue: ['a'] },
            { name: 'at', type: 'datetime', defaultValue: () => new Date().toISOString() },
            { type: 'row', fields: [{ name: 'author', type: 'relationship', relationTo: 'authors', index: true }] },
            { name: 'layout', type: 'blocks', blocks: [{ slug: 'hero', fields: [{ name: 'head', type: 'text' }] }] },
            {
              name: 'meta',
              type: 'json',
              defaultValue: { list: [1] },
              admin: { condition: { status: { equals: 'draft' } } },
            },
          ],
        },
        { slug: 'authors', fields: [{ name: 'posts', type: 'join', collection: 'posts', on: 'author' }] },
      ],
      globals: [
        {
          slug: 'site',
          label: 'Site',
          drafts: { validate: true },
          access: {
            readDrafts: ({ user }) => user !== null,
            publish: ({ user, editors, published }) => published === null || !editors.includes(`users/${user?.id}`),
          },
          hooks: { beforePublish: ({ data, published }) => ({ ...data, since: published?.since ?? null }) },
          fields: [{ name: 'open', type: 'boolean', defaultValue: true }],
        },
      ],
    });
    const slug: 'posts' = config.collections[0].slug;
    assert.equal(slug, 'posts');
    assert.deepEqual(checkConfig(config).warnings, []);
  });

  it('asks at compile time for the options that a type needs, and for no others', () => {
    const config = defineConfig({
      // @ts-expect-error a relationship needs relationTo
      globals: [{ slug: 'site', fields: [{ name: 'a', type: 'relationship' }] }],
      collections: [
        // @ts-expect-error a misspelt option
        { slug: 'posts', fields: [{ name: 'a', type: 'text', requred: true }] },
        // @ts-expect-error a rule answers yes, no or a where
        { slug: 'notes', fields: [], access: { read: ({ user }) => user?.id } },
      ],
    });
    const slugs: ['posts', 'notes'] = [config.collections[0].slug, config.collections[1].slug];
    assert.deepEqual(slugs, ['posts', 'notes']);
    assert.throws(() => checkConfig(config), { name: 'ConfigError' });
  });
});
