import type { AddHeaders } from '../errors.ts';

/** By what a request says its site, where its address does not. */
const saidBy = 'x-site-id,authorization';

/** Under one address each site answers for itself: a cache must not give one's answer to another. */
export const varyBySite: AddHeaders = (_request, headers) => {
  headers.vary = headers.vary === undefined ? saidBy : `${headers.vary},${saidBy}`;
};
