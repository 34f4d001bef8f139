import { listParameters } from '../../queries/query.ts';

/** The query of a bulk call: the page of its documents. */
export const batchParameters = { limit: listParameters.limit, page: listParameters.page };
