import { postsConfig } from './posts.ts';

/** Without a declared index, as other systems are measured. */
export default postsConfig({});
