import { pageParameters } from '../../queries/pages.ts';
import { momentParameter } from '../../queries/query.ts';

/** The query of references. */
export const referenceParameters = { ...pageParameters, ...momentParameter };
