/** The paths of the service where it shares a path prefix with others. */
const own = /^\/(?:(?:api|account)(?:\/|\?|#|$)|(?:health|ready)(?:\?|#|$))/;
const admin = /^\/admin(?:\/|\?|#|$)/;

/**
 * The same for hapi, which has no pattern in a path that would say so. @param hasAdmin whether the admin application is
 * on.
 */
export function ownRoutes(hasAdmin: boolean): readonly string[] {
  return ['/api/{any*}', '/account/{any*}', ...(hasAdmin ? ['/admin/{any*}'] : []), '/health', '/ready'];
}

/** The path below which requests come, without a slash at its end. `hasAdmin`: whether the admin application is on. */
export type Below = { path: string; hasAdmin: boolean };

/**
 * The url of a request below a path, without that path; null for one of another handler. At the root, only what the
 * service knows is its own.
 */
export function urlBelow({ path, hasAdmin }: Below, url: string): string | null {
  if (path === '') return own.test(url) || (hasAdmin && admin.test(url)) ? url : null;
  if (!url.startsWith(path)) return null;
  const rest = url.slice(path.length);
  if (rest === '' || rest[0] === '?' || rest[0] === '#') return `/${rest}`;
  return rest[0] === '/' ? rest : null;
}
