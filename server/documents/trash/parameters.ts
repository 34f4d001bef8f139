import { listParameters } from '../../queries/query.ts';

/** The query of a trash. */
export const trashParameters = { limit: listParameters.limit, page: listParameters.page, asOf: listParameters.asOf };
