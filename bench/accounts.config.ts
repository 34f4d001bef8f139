import { postsConfig } from './posts.ts';

const { collections = [] } = postsConfig({ index: true });

/** Posts, and users whose passwords are hashed at the cost that other systems use by default. */
export default {
  bcryptCost: 10,
  rateLimit: false,
  collections: [...collections, { slug: 'users', auth: { useAPIKey: true }, fields: [] }],
};
