import { ApiError, type FieldProblem } from './errors.ts';

/** An answer: its body parsed, null where it is empty. */
export type Answer = { body: unknown; headers: Headers; status: number };

/** How an answer is called in messages: without the query, which may hold a token. */
export type Asked = { method: string; url: string };

/**
 * Reads an answer to its end.
 *
 * @throws ApiError for every status but 2xx, and for a body that is not JSON. Errors of reading are for the caller to
 * name.
 */
export async function readAnswer(asked: Asked, response: Response): Promise<Answer> {
  const { headers, ok, status } = response;
  refuseRedirect(asked, response);
  const text = await response.text();
  const body = text === '' ? null : parsed(text);
  if (!ok) throw refusal(asked, response, { body, text });
  // A page of a proxy, of a captive portal, of another program at this address.
  if (body === undefined) throw invalid(asked, { body: text, headers, status }, `JSON: ${excerpt(text)}`);
  return { body, headers, status };
}

/** The method and address of a call, for messages. */
export function nameOf({ method, url }: Asked): string {
  return `${method} ${url.replace(/\?.*/s, '')}`;
}

/** To follow one would make a GET of a POST, and the service never redirects. */
function refuseRedirect(asked: Asked, { status, type, headers }: Response): void {
  if (type !== 'opaqueredirect' && !(status >= 300 && status < 400 && headers.has('location'))) return;
  const target = headers.get('location');
  const where = target === null ? '' : ` to ${target.replace(/\?.*/s, '')}`;
  throw new ApiError(`${nameOf(asked)} was redirected${where}: baseUrl must be the address of the service itself`, {
    status,
    error: 'Invalid Answer',
  });
}

function refusal(asked: Asked, response: Response, { body, text }: { body: unknown; text: string }): ApiError {
  const { status, statusText, headers } = response;
  const said = isObject(body) ? body : {};
  // Over HTTP/2 a status has no text.
  const error = typeof said.error === 'string' ? said.error : statusText || `HTTP ${status}`;
  const message =
    typeof said.message === 'string' ? said.message : `${nameOf(asked)} was answered ${status} ${statusText}`.trim();
  return new ApiError(message + (body === undefined ? `: ${excerpt(text)}` : ''), {
    status,
    error,
    errors: Array.isArray(said.errors) ? (said.errors as FieldProblem[]) : [],
    retryAfter: secondsOf(headers.get('retry-after')),
    requestId: headers.get('x-request-id'),
    body: body ?? (text || null),
  });
}

/** JSON that the route does not give: something else is at this address. */
export function unexpected(asked: Asked, answer: Answer): ApiError {
  return invalid(asked, answer, `of the service: ${excerpt(JSON.stringify(answer.body))}`);
}

function invalid(asked: Asked, { body, headers, status }: Answer, problem: string): ApiError {
  const message = `${nameOf(asked)} was answered ${status} with a body that is not ${problem}`;
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

/** `Retry-After` is a number of seconds, or of proxies a date. */
function secondsOf(text: string | null): number | null {
  if (text === null) return null;
  const seconds = /^\d+$/.test(text.trim()) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? null : Math.max(0, seconds);
}

/** True for a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
