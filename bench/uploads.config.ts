import { postsConfig } from './posts.ts';

const { collections = [] } = postsConfig({ index: true });

/** Posts, and files of up to 2 GiB that everyone may read. */
export default {
  collections: [
    ...collections,
    {
      slug: 'files',
      upload: { maxFileSize: 2 ** 31 },
      access: { read: () => true },
      fields: [{ name: 'alt', type: 'text' }],
    },
  ],
};
