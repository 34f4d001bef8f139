import type { Request } from '@hapi/hapi';
import { cutField, DomainError, inQuery, invalidField, invalidFields } from '../../config/errors.ts';
import { show } from '../../config/suggest.ts';

/** As many parameters as Node reads (`querystring.parse`); it would silently ignore the rest. */
const maxParameters = 1000;
const maxNameLength = 100;
const mustBe = 'must be UTF-8 in percent-encoding';

/**
 * Refuses a URL that is not UTF-8. hapi does not name the wrong part of a path, and in a query reads U+FFFD for bytes
 * it cannot read. A `%` without two hexadecimal digits stands for itself in a query, as in the URL standard, and is
 * wrong in a path.
 *
 * @throws DomainError `malformed` for a path; `validation_failed` naming the parameter.
 */
export function checkUrl({ raw: { req } }: Request): void {
  const { url: whole = '' } = req;
  // Most URLs have neither.
  if (!whole.includes('%') && !whole.includes('?')) return;
  const [url = ''] = whole.split('#', 1);
  const end = url.indexOf('?');
  const query = end === -1 ? '' : url.slice(end + 1);
  if (url.includes('%')) {
    const path = end === -1 ? url : url.slice(0, end);
    if (!isUtf8(path)) throw new DomainError('malformed', pathProblem(path));
    if (query.includes('%')) for (const parameter of query.split('&')) checkParameter(parameter);
  }
  if (query.length >= maxParameters && query.split('&').length > maxParameters) throw tooManyParameters();
}

/** Whether the percent-encoding of a text is complete, and is UTF-8. */
export function isUtf8(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Describes the error in a path, naming the first wrong part. */
export function pathProblem(path: string): string {
  const part = path.split('/').find((one) => !isUtf8(one));
  return `the path ${mustBe}, got ${show(part)}`;
}

function tooManyParameters(): DomainError {
  const message = `the query must have at most ${maxParameters} parameters`;
  return invalidFields([{ ...inQuery('', 'max_items', { limit: maxParameters }), message }]);
}

function checkParameter(parameter: string): void {
  if (readPart(parameter) !== null) return;
  const end = parameter.indexOf('=');
  const name = end === -1 ? parameter : parameter.slice(0, end);
  const read = readPart(name);
  const wrong = read === null ? name : parameter.slice(end + 1);
  throw invalidField(
    inQuery(cutField(read ?? name, maxNameLength), 'unsafe_characters'),
    `${mustBe}, got ${show(wrong)}`,
  );
}

/** A part of a query, decoded; null if it is not UTF-8. */
function readPart(text: string): string | null {
  const whole = text.replace(/%(?![\da-f]{2})/gi, '%25').replaceAll('+', ' ');
  return isUtf8(whole) ? decodeURIComponent(whole) : null;
}
