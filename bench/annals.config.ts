import { postsConfig } from './posts.ts';

/** With indexes on the fields of filters and sorts. */
export default postsConfig({ index: true });
