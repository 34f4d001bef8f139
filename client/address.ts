/**
 * The address of the service without a slash at its end. A path alone, `/` or `/cms`, is one of the page's own origin.
 *
 * @throws TypeError for what no service can be reached at.
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

/** One segment of a path. @throws TypeError for what would make another path of it. */
export function segment(name: string, value: string): string {
  if (typeof value === 'string' && value !== '' && value !== '.' && value !== '..') return encoded(name, value);
  throw new TypeError(`${name} must be a text that is not empty, got ${shown(value)}`);
}

/** A text as part of an address. @throws TypeError for one that is not a text in Unicode. */
export function encoded(name: string, text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    throw new TypeError(`${name} must be Unicode, got half of a surrogate pair in ${shown(text)}`);
  }
}

/**
 * The query of a call: members that are undefined are left out, filters are JSON, moments are as the service reads
 * them.
 */
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
 * The whole address of a file: below the address under which this client reaches the service, whichever path the
 * service says that clients reach it under.
 *
 * @throws TypeError for what has no `url`.
 */
export function mediaUrlOf(baseUrl: string, file: string | object): string {
  const url: unknown = typeof file === 'object' && file !== null && 'url' in file ? file.url : file;
  // Behind it come a slug, an id and a name, none of which holds it.
  if (typeof url === 'string' && url.startsWith('/'))
    return baseUrl + url.slice(Math.max(0, url.lastIndexOf('/api/media/')));
  throw new TypeError(`mediaUrl needs a document of a file, or its url, got ${shown(url)}`);
}

/** How a value that should not be is shown in a message. */
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
