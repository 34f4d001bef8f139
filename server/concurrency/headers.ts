import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';

/** The headers by which a write says more about itself. */
export type WriteHeader = 'if-match' | 'idempotency-key';

declare module '@hapi/hapi' {
  interface PluginSpecificConfiguration {
    /** The headers that a route takes of those that would promise something where nobody looks at them. */
    takes?: readonly WriteHeader[];
  }
}

const places: Record<WriteHeader | 'if-none-match', string> = {
  'if-match': 'goes with PATCH and DELETE of a document, PATCH of a global, and their restore',
  'if-none-match': 'goes with GET; a write takes if-match',
  'idempotency-key': 'goes with POST, PATCH and DELETE of documents, PATCH of globals, and their restore',
};

/**
 * Refuses what a client would rely on in vain: a write that is not made conditional by it, or is done twice. Reads are
 * repeatable anyway, so there a key is passed over.
 *
 * @throws DomainError `invalid` naming the header.
 */
export function refuseMisplaced({ method, headers, route: { settings } }: Request): void {
  const { 'if-match': match, 'if-none-match': noneMatch, 'idempotency-key': key } = headers;
  if (match === undefined && noneMatch === undefined && key === undefined) return;
  const { takes = [], openApi } = settings.plugins ?? {};
  // What is no part of the API says for itself what it makes of its callers.
  if (!openApi || method === 'get' || method === 'head') return;
  if (match !== undefined && !takes.includes('if-match')) throw misplaced('if-match');
  if (key !== undefined && !takes.includes('idempotency-key')) throw misplaced('idempotency-key');
  if (noneMatch !== undefined) throw misplaced('if-none-match');
}

/** @throws DomainError `invalid` for a read that comes with `If-Match`. */
export function refuseIfMatch({ headers }: Request): void {
  if (headers['if-match'] !== undefined) throw misplaced('if-match');
}

function misplaced(header: keyof typeof places): DomainError {
  const message = `${header} has no place here: it ${places[header]}`;
  return new DomainError('invalid', message, [{ field: header, message }]);
}
