import Boom from '@hapi/boom';
import type { Lifecycle, Request, ResponseToolkit } from '@hapi/hapi';
import { DomainError, type RefusalCode } from '../../config/errors.ts';
import { AlteredEventError } from '../../events/store/altered.ts';
import type { ServiceState } from '../platform/state.ts';
import { unknownRefusal } from '../writer/waiting.ts';
import { addCommon, sendsAtOnce } from './at-once.ts';
import type { Backlog } from './backlog.ts';
import { dropRest } from './body.ts';
import { challengeFor } from './challenge.ts';
import { typeProblem } from './media-types.ts';
import { WrongMethodError } from './methods.ts';
import { segmentRefusal } from './offloaded.ts';
import { OutOfRangeError } from './ranges.ts';
import { codeOfStatus } from './status-codes.ts';
import { isStoreFailure, storeRefusal } from './store-refusals.ts';

/**
 * The status of each error. Other files choose a status from 400 on only for errors that never come here:
 * `documents/hooks.ts` for the errors of authors, `http/listener.ts` for malformed requests, `running/embedded/gate.ts`
 * if there is no service, `running/metrics/listener.ts`, which loads no hapi, and `accounts/mail/mailbox.ts`, a server
 * for development.
 */
export const statusOf: Record<RefusalCode, number> = {
  validation_failed: 400,
  malformed: 400,
  unauthorized: 401,
  invalid_token: 401,
  invalid_api_key: 401,
  invalid_credentials: 401,
  forbidden: 403,
  route_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  unique: 409,
  write_conflict: 409,
  erased: 409,
  idempotency_key_in_use: 409,
  stale: 412,
  body_too_large: 413,
  file_too_large: 413,
  too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  expectation_failed: 417,
  idempotency_key_reused: 422,
  too_many_events: 422,
  rate_limited: 429,
  locked: 429,
  headers_too_large: 431,
  internal: 500,
  log_altered: 500,
  unavailable: 503,
  disk_full: 503,
  not_shown_yet: 503,
  outcome_unknown: 503,
};

const defaultRetrySeconds = 5;

/** Headers of an answer, by their names in lower case. */
export type AnswerHeaders = { [name: string]: unknown };

/** Adds to the headers of an answer. */
export type AddHeaders = (request: Request, headers: AnswerHeaders) => void;

/**
 * The one place that makes an answer of an error (contract, section 7): `{ statusCode, error, message, code }`, and
 * `errors` if single fields are wrong. An error that is not a DomainError is a bug: it is logged and answered with a
 * bare 500. Only of an altered log the caller is told.
 *
 * @param log logs a bug, and gives the message that the caller gets; undefined for no message.
 * @param backlog counts an answer until it is over, or says why it is not sent.
 * @param addTo adds the headers of every response, also if it is not an error.
 */
export function answerErrors(
  log: (error: Error, request: Request) => string | undefined,
  { backlog, addTo }: { backlog: Backlog; addTo: AddHeaders },
): Lifecycle.Method {
  const ending = { addTo, backlog };
  return (request, h) => {
    if (isAnswered(request)) return h.abandon;
    if (!(request.response instanceof Error)) {
      addCommon(request, request.response.headers, addTo);
      if (sendsAtOnce(request, request.response, ending)) return h.abandon;
    }
    const response = backlog.admit(request) ?? request.response;
    if (!(response instanceof Error)) return h.continue;
    const known = segmentRefusal(response) ?? unknownRefusal(response);
    const refusal = known ?? (isStoreFailure(response) ? storeRefusal(response) : response);
    const boom = refusal instanceof DomainError ? translate(refusal) : told(refusal, request);
    if (boom.output.statusCode >= 500 && !(response instanceof DomainError)) {
      const message = log(response, request);
      if (message !== undefined && !(refusal instanceof DomainError)) boom.output.payload.message = message;
    }
    if (boom.output.statusCode === 401) boom.output.headers['www-authenticate'] = challengeFor(request, response);
    addCommon(request, boom.output.headers, addTo);
    // The rest of a body that is too slow is not read.
    return boom.output.statusCode === 408
      ? boom
      : dropRest(request).then(() => (isAnswered(request) ? h.abandon : boom));
  };
}

/**
 * Whether the surrounding server has answered the request meanwhile, for example since it took long. hapi would set
 * headers of the sent answer, and this error, which nothing catches, would end the process.
 */
function isAnswered({ raw: { res } }: Request): boolean {
  return res.headersSent || res.writableEnded;
}

function told(error: Boom.Boom, request: Request): Boom.Boom {
  const { payload } = error.output;
  // hapi compares the type of a body with those of its route, and names none of them.
  const isOfType = payload.statusCode === 415 && error.message === 'Unsupported Media Type';
  if (isOfType) payload.message = typeProblem(request) ?? error.message;
  if (error instanceof AlteredEventError) Object.assign(payload, { message: error.message, code: 'log_altered' });
  // A hook's refusal has its code already.
  else if (!Object.hasOwn(payload, 'code')) Object.assign(payload, { code: codeOfStatus(payload.statusCode) });
  return error;
}

function translate(error: DomainError): Boom.Boom {
  const boom = Boom.boomify(error, { statusCode: statusOf[error.code] });
  // Boom hides the message of every 5xx; ours are written for the caller.
  boom.output.payload.message = error.message;
  Object.assign(boom.output.payload, { code: error.code });
  if (error.code === 'validation_failed') boom.output.payload.error = 'Validation Error';
  if (error.errors.length > 0) Object.assign(boom.output.payload, { errors: error.errors });
  if (error.details) Object.assign(boom.output.payload, error.details);
  if (error instanceof OutOfRangeError) boom.output.headers['content-range'] = `bytes */${error.size}`;
  if (error instanceof WrongMethodError) boom.output.headers.allow = error.allow;
  const retryAfter = error.retryAfter ?? (statusOf[error.code] === statusOf.unavailable ? defaultRetrySeconds : null);
  if (retryAfter !== null) boom.output.headers['retry-after'] = String(retryAfter);
  return boom;
}

const servesReads: readonly ServiceState[] = ['full', 'outdated'];

/** Answers with the state of the service: 503 if it should not be used, which is not an error. */
export function answerState(h: ResponseToolkit, state: ServiceState) {
  const status = state === 'draining' ? 'stopping' : state;
  const more = servesReads.includes(state) && { reads: 'served', writes: 'refused' };
  return h.response({ status, ...more }).code(status === 'ready' ? 200 : 503);
}

/** Answers 404 with a page that says why there is no other page at this address. */
export function answerMissing(h: ResponseToolkit, html: string) {
  return h.response(html).type('text/html').code(404);
}

/** The status of an answer in the log: 499 if the client did not wait for the answer. */
export function statusSent({ response, raw: { res } }: Request): number {
  // The answer went past hapi.
  if (typeof response === 'symbol') return res.headersSent ? res.statusCode : 499;
  const sent = response as Request['response'] | undefined;
  return sent instanceof Error ? sent.output.statusCode : (sent?.statusCode ?? 499);
}

/** Adds the headers of several functions. */
export function allOf(...additions: readonly AddHeaders[]): AddHeaders {
  return (request, headers) => {
    for (const addition of additions) addition(request, headers);
  };
}
