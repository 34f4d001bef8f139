/** The paths of a service that shares a path prefix with other handlers. */
const own = /^\/(?:(?:api|account)(?:\/|\?|#|$)|(?:health|ready)(?:\?|#|$))/;
const admin = /^\/admin(?:\/|\?|#|$)/;

/**
 * The paths for hapi, whose patterns cannot express them at once. @param hasAdmin whether the admin application is on.
 */
export function ownRoutes(hasAdmin: boolean): readonly string[] {
  return ['/api/{any*}', '/account/{any*}', ...(hasAdmin ? ['/admin/{any*}'] : []), '/health', '/ready'];
}

/** The path below which requests come, without a slash at the end. `hasAdmin`: whether the admin application is on. */
export type MountPath = { path: string; hasAdmin: boolean };

/**
 * The url of a request without the path prefix; null for a request of another handler. At the root, the service takes
 * only its known paths.
 */
export function urlBelow({ path, hasAdmin }: MountPath, url: string): string | null {
  if (path === '') return own.test(url) || (hasAdmin && admin.test(url)) ? url : null;
  if (!url.startsWith(path)) return null;
  const rest = url.slice(path.length);
  if (rest === '' || rest[0] === '?' || rest[0] === '#') return `/${rest}`;
  return rest[0] === '/' ? rest : null;
}
