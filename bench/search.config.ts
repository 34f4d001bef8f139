import { defineConfig } from '../config/define.ts';

const access = { read: () => true };
const isSearched = process.env.BENCH_SEARCHED === 'true';
const searched = (...searchFields: string[]) => (isSearched ? { admin: { searchFields } } : {});

/** Two short texts, one of about 1 KB, and one for `like`; with search fields if the benchmark wants them. */
export default defineConfig({
  collections: [
    {
      slug: 'notes',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'summary', type: 'text' },
      ],
      access,
      ...searched('title', 'summary'),
    },
    { slug: 'pages', fields: [{ name: 'body', type: 'textarea' }], access, ...searched('body') },
    {
      slug: 'names',
      fields: [{ name: 'name', type: 'text', ...(isSearched ? { index: true } : {}) }],
      access,
      ...searched('name'),
    },
  ],
});
