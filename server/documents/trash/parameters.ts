import { pageParameters } from '../../queries/pages.ts';
import { momentParameter } from '../../queries/query.ts';

/** The query of a trash. */
export const trashParameters = { ...pageParameters, ...momentParameter };
