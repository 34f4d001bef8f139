/** The paths of the service where it shares a path prefix with others. */
const own = /^\/(?:(?:api|account)(?:\/|\?|#|$)|(?:health|ready)(?:\?|#|$))/;

/** The same for hapi, which has no pattern in a path that would say so. */
export const ownRoutes: readonly string[] = ['/api/{any*}', '/account/{any*}', '/health', '/ready'];

/**
 * The url of a request below a path, without that path; null for one of another handler.
 *
 * @param path without a slash at its end. At the root, only what the service knows is its own.
 */
export function urlBelow(path: string, url: string): string | null {
  if (path === '') return own.test(url) ? url : null;
  if (!url.startsWith(path)) return null;
  const rest = url.slice(path.length);
  if (rest === '' || rest[0] === '?' || rest[0] === '#') return `/${rest}`;
  return rest[0] === '/' ? rest : null;
}
