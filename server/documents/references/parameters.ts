import { listParameters } from '../../queries/query.ts';

/** The query of references. */
export const referenceParameters = {
  limit: listParameters.limit,
  page: listParameters.page,
  asOf: listParameters.asOf,
};
