/**
 * The address of the service, without a slash at its end. A mere path, such as `/` or `/cms`, is relative to the origin
 * of the page.
 *
 * @throws TypeError if the text cannot be the address of a service.
 */
export function readBaseUrl(given: string | URL): string {
  const text = String(given);
  const page = (globalThis as { location?: { href: string } }).location?.href;
  const url = urlOf(text, text.startsWith('/') ? page : undefined);
  if (!url || !/^https?:$/.test(url.protocol)) throw wrong(text);
  if (url.username || url.password) throw invalid('must not hold a name and password', url.host);
  if (url.search || url.hash) throw invalid('must end with its path', text);
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/** One segment of a path. @throws TypeError for a value that would lead to another path. */
export function segment(name: string, value: string): string {
  if (typeof value === 'string' && value !== '' && value !== '.' && value !== '..') return encoded(name, value);
  throw new TypeError(`${name} must be a text that is not empty, got ${shown(value)}`);
}

/** A text, encoded for an address. @throws TypeError for a text with a lone surrogate. */
export function encoded(name: string, text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    throw new TypeError(`${name} must be Unicode, got half of a surrogate pair in ${shown(text)}`);
  }
}

/** The query string of a call. Undefined members are left out, filters become JSON, `Date`s become ISO 8601. */
export function queryOf(parameters: object): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.append(name, textOf(value));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

function textOf(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/**
 * The full URL of a file, below the base URL of this client, even if the service names another path in front of
 * `/api/media/`.
 *
 * @throws TypeError for a value without a `url`.
 */
export function mediaUrlOf(baseUrl: string, file: string | object): string {
  const url: unknown = typeof file === 'object' && file !== null && 'url' in file ? file.url : file;
  // `/api/media/` is followed by a slug, an id and a name, none of which can contain it.
  if (typeof url === 'string' && url.startsWith('/'))
    return baseUrl + url.slice(Math.max(0, url.lastIndexOf('/api/media/')));
  throw new TypeError(`mediaUrl needs a document of a file, or its url, got ${shown(url)}`);
}

/** A wrong value as messages show it. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' || isPlain(value) ? JSON.stringify(value) : String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function isPlain(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function wrong(text: string): TypeError {
  const isNearly = /^(?=[^/]*[.:])[\w-]+(\.[\w-]+)*(:\d+)?(\/|$)/.test(text);
  const scheme = /^(localhost|127\.)/.test(text) ? 'http' : 'https';
  const hint = isNearly ? `; did you mean "${scheme}://${text}"?` : '';
  return invalid('must be an http or https URL, for example "https://cms.example.org"', text, hint);
}

function invalid(problem: string, text: string, hint = ''): TypeError {
  return new TypeError(`baseUrl ${problem}, got ${shown(text)}${hint}`);
}

function urlOf(text: string, base?: string): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}
