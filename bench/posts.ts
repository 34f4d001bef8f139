import { type Config, defineConfig } from '../config/define.ts';

/**
 * The configuration of the benchmarks: posts and their authors, which everyone may read, with or without declared
 * indexes.
 */
export function postsConfig(declared: { index?: true }): Config {
  const access = { read: () => true };
  return defineConfig({
    collections: [
      { slug: 'authors', fields: [{ name: 'name', type: 'text', required: true }], access },
      {
        slug: 'posts',
        fields: [
          { name: 'title', type: 'text', required: true },
          { name: 'slug', type: 'text', unique: true },
          { name: 'body', type: 'textarea' },
          { name: 'status', type: 'select', options: ['draft', 'published'], ...declared },
          { name: 'views', type: 'number', ...declared },
          { name: 'publishedAt', type: 'datetime', ...declared },
          { name: 'author', type: 'relationship', relationTo: 'authors' },
        ],
        access,
      },
    ],
  });
}
