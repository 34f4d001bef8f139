import { ApiError, type ErrorCode, type FieldProblem } from './errors.ts';

/** An answer. `body` is parsed, and null if the answer is empty. */
export type Answer = { body: unknown; headers: Headers; status: number };

/** The method and URL of a call. Messages leave out the query, which may contain a token. */
export type CallName = { method: string; url: string };

/**
 * Reads the whole answer.
 *
 * @throws ApiError for every status except 2xx, and for a body that is not JSON. Errors while reading are passed on;
 * the caller turns them into an ApiError.
 */
export async function readAnswer(call: CallName, response: Response): Promise<Answer> {
  const { headers, ok, status } = response;
  refuseRedirect(call, response);
  const text = await response.text();
  const body = text === '' ? null : parsed(text);
  if (!ok) throw refusal(call, response, { body, text });
  // The body is a page of a proxy, a captive portal or another program at this address.
  if (body === undefined) throw invalid(call, { body: text, headers, status }, `JSON: ${excerpt(text)}`);
  return { body, headers, status };
}

/** The method and address of a call, for messages. */
export function nameOf({ method, url }: CallName): string {
  return `${method} ${url.replace(/\?.*/s, '')}`;
}

/** A followed redirect would turn a POST into a GET, and the service never redirects. */
function refuseRedirect(call: CallName, { status, type, headers }: Response): void {
  if (type !== 'opaqueredirect' && !(status >= 300 && status < 400 && headers.has('location'))) return;
  const target = headers.get('location');
  const where = target === null ? '' : ` to ${target.replace(/\?.*/s, '')}`;
  throw new ApiError(`${nameOf(call)} was redirected${where}: baseUrl must be the address of the service itself`, {
    status,
    error: 'Invalid Answer',
  });
}

function refusal(call: CallName, response: Response, { body, text }: { body: unknown; text: string }): ApiError {
  const { status, statusText, headers } = response;
  const said = isObject(body) ? body : {};
  // In HTTP/2 a status has no text.
  const error = typeof said.error === 'string' ? said.error : statusText || `HTTP ${status}`;
  const message =
    typeof said.message === 'string' ? said.message : `${nameOf(call)} was answered ${status} ${statusText}`.trim();
  return new ApiError(message + (body === undefined ? `: ${excerpt(text)}` : ''), {
    status,
    error,
    code: typeof said.code === 'string' ? (said.code as ErrorCode) : null,
    errors: Array.isArray(said.errors) ? (said.errors as FieldProblem[]) : [],
    retryAfter: secondsOf(headers.get('retry-after')),
    requestId: headers.get('x-request-id'),
    body: body ?? (text || null),
  });
}

/** The error for JSON that the route cannot have sent: something else is at this address. */
export function unexpected(call: CallName, answer: Answer): ApiError {
  return invalid(call, answer, `of the service: ${excerpt(JSON.stringify(answer.body))}`);
}

function invalid(call: CallName, { body, headers, status }: Answer, problem: string): ApiError {
  const message = `${nameOf(call)} was answered ${status} with a body that is not ${problem}`;
  return new ApiError(message, { status, error: 'Invalid Answer', requestId: headers.get('x-request-id'), body });
}

function excerpt(text: string): string {
  const line = text
    .slice(0, 2000)
    .replace(/<(style|script)\b.*?<\/\1>|<[^>]*>/gis, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return JSON.stringify(line.length > 100 ? `${line.slice(0, 100)}…` : line);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `Retry-After` is a number of seconds; proxies also send a date. */
function secondsOf(text: string | null): number | null {
  if (text === null) return null;
  const seconds = /^\d+$/.test(text.trim()) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? null : Math.max(0, seconds);
}

/** True for a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
