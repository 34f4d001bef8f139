import { postsConfig } from './posts.ts';

/** Without a declared index, because other systems are measured so. */
export default postsConfig({});
