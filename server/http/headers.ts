import type { Request } from '@hapi/hapi';
import { type DomainError, inHeader, invalidField } from '../../config/errors.ts';

/** The headers by which a write says more about itself. */
type WriteHeader = 'if-match' | 'idempotency-key';

declare module '@hapi/hapi' {
  interface PluginSpecificConfiguration {
    /** The headers that this route takes; other routes refuse them, since ignoring them would break a promise. */
    takes?: readonly WriteHeader[];
  }
}

const places: Record<WriteHeader | 'if-none-match', string> = {
  'if-match':
    'goes with PATCH and DELETE of a document, PATCH of a global, their restore, PUT and DELETE of a draft, and PATCH of preferences',
  'if-none-match': 'goes with GET; a write takes if-match',
  'idempotency-key':
    'goes with PATCH and DELETE of documents, PATCH of globals, and each POST with a credential but logout and refresh-token',
};

/**
 * The least length of an idempotency key by which an answer with a secret is encrypted, in characters; a UUID has 36.
 */
export const leastSecretKey = 16;

/**
 * Refuses headers that a client would rely on in vain: conditions that are not checked, keys that do not prevent a
 * second write. Reads may be repeated anyway, so they ignore a key.
 *
 * @throws DomainError `validation_failed` naming the header.
 */
export function refuseMisplaced(request: Request): void {
  const { headers } = request;
  // Every request comes here, and hardly any has such a header.
  const isPlain =
    headers['if-match'] === undefined &&
    headers['idempotency-key'] === undefined &&
    headers['if-none-match'] === undefined;
  if (!isPlain) refuseUnlessTaken(request);
}

function refuseUnlessTaken({ method, headers, route: { settings } }: Request): void {
  const { takes = [], openApi } = settings.plugins ?? {};
  // Routes outside the API check their headers themselves.
  if (!openApi) return;
  const isReading = method === 'get' || method === 'head';
  if (headers['if-match'] !== undefined && !takes.includes('if-match')) throw misplaced('if-match');
  if (isReading) return;
  if (headers['idempotency-key'] !== undefined && !takes.includes('idempotency-key'))
    throw misplaced('idempotency-key');
  if (headers['if-none-match'] !== undefined) throw misplaced('if-none-match');
}

function misplaced(header: keyof typeof places): DomainError {
  return invalidField(inHeader(header, 'misplaced'), `has no place here: it ${places[header]}`);
}
