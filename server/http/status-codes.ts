import type { ErrorCode } from '../../config/error-codes.ts';

const codes: Record<number, ErrorCode> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'route_not_found',
  405: 'method_not_allowed',
  408: 'request_timeout',
  413: 'body_too_large',
  415: 'unsupported_media_type',
  417: 'expectation_failed',
  431: 'headers_too_large',
  503: 'unavailable',
};

/**
 * The code of an error of which only the status is known: an error of hapi, of Node's parser, or from outside of hapi.
 */
export function codeOfStatus(status: number): ErrorCode {
  return codes[status] ?? (status < 500 ? 'malformed' : 'internal');
}
