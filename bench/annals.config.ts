import { postsConfig } from './posts.ts';

/** With indexes on what is filtered and sorted by. */
export default postsConfig({ index: true });
