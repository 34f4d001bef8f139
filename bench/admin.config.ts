import { defineConfig, type FieldConfig } from '../config/define.ts';

const text = (name: string): FieldConfig => ({ name, type: 'text' });

/** The field types of a form, in turn. */
const mixed: ((name: string) => FieldConfig)[] = [
  text,
  (name) => ({ name, type: 'textarea' }),
  (name) => ({ name, type: 'number' }),
  (name) => ({ name, type: 'select', options: ['draft', 'published'] }),
  (name) => ({ name, type: 'date' }),
];

/** Articles and their authors, and a form of 100 fields with blocks. */
export default defineConfig({
  rateLimit: false,
  bcryptCost: 4,
  collections: [
    {
      slug: 'articles',
      labels: { singular: 'Article', plural: 'Articles' },
      admin: { useAsTitle: 'title', searchFields: ['title', 'teaser'] },
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'teaser', type: 'textarea' },
        { name: 'status', type: 'select', options: ['draft', 'published'] },
        { name: 'views', type: 'number' },
        { name: 'author', type: 'relationship', relationTo: 'authors' },
      ],
    },
    { slug: 'authors', admin: { useAsTitle: 'name' }, fields: [text('name')] },
    {
      slug: 'forms',
      labels: { singular: 'Form', plural: 'Forms' },
      fields: [
        ...Array.from({ length: 99 }, (_, index) => (mixed[index % mixed.length] ?? text)(`field${index}`)),
        {
          name: 'parts',
          type: 'blocks',
          blocks: [{ slug: 'quote', fields: [{ name: 'words', type: 'textarea' }, text('source')] }],
        },
      ],
    },
    { slug: 'editors', auth: { useAPIKey: true }, fields: [text('name')] },
  ],
});
