/** The operators of filters (contract, section 4.9). */
export const operatorNames = [
  'equals',
  'not_equals',
  'like',
  'contains',
  'in',
  'not_in',
  'greater_than',
  'less_than',
  'greater_than_equal',
  'less_than_equal',
  'exists',
] as const;

/** An operator of filters. */
export type Operator = (typeof operatorNames)[number];
