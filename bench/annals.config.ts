import { defineConfig } from '../config/define.ts';

/** What the benchmarks serve: seven fields, four of them indexed, read by anybody. */
export default defineConfig({
  collections: [
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'slug', type: 'text', unique: true },
        { name: 'body', type: 'textarea' },
        { name: 'status', type: 'select', options: ['draft', 'published'], index: true },
        { name: 'views', type: 'number', index: true },
        { name: 'publishedAt', type: 'datetime', index: true },
        { name: 'author', type: 'text' },
      ],
      access: { read: () => true },
    },
  ],
});
