import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import { defineConfig } from '../../config/define.ts';

describe('defineConfig', () => {
  it('knows the types of options and functions, keeps literals, and what it takes passes the check', () => {
    const config = defineConfig({
      publicSchema: true,
      limits: { body: 1000 },
      openapi: { title: 'Blog', version: '1.0.0', description: 'Posts and their authors.' },
      collections: [
        {
          slug: 'posts',
          labels: { singular: 'Post', plural: 'Posts' },
          access: { read: () => true, update: ({ user, doc }) => user?.id === doc?.author },
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
              access: { read: ({ user }) => user !== null },
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
      globals: [{ slug: 'site', label: 'Site', fields: [{ name: 'open', type: 'boolean', defaultValue: true }] }],
    });
    const slug: 'posts' = config.collections[0].slug;
    assert.equal(slug, 'posts');
    assert.deepEqual(checkConfig(config).warnings, []);
  });

  it('asks at compile time for the options that a type needs', () => {
    const config = defineConfig({
      // @ts-expect-error a relationship needs relationTo
      globals: [{ slug: 'site', fields: [{ name: 'a', type: 'relationship' }] }],
    });
    assert.throws(() => checkConfig(config), { name: 'ConfigError' });
  });
});
