import { postsConfig } from './posts.ts';

const { collections = [] } = postsConfig({ index: true });

/** Posts, and users who log in at the cost of hashing that others have by default. */
export default {
  bcryptCost: 10,
  rateLimit: false,
  collections: [...collections, { slug: 'users', auth: { useAPIKey: true }, fields: [] }],
};
