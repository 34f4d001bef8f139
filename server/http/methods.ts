import type { Request, Server } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';

/** Thrown if a path has other methods than the one that came; `allow` is the value of the header. */
export class WrongMethodError extends DomainError {
  override name = 'WrongMethodError';
  readonly allow: string;

  constructor({ method, path }: Request, allow: string) {
    super('method_not_allowed', `there is no ${method.toUpperCase()} ${path.slice(0, 200)}; it takes ${allow}`);
    this.allow = allow;
  }
}

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** The commands of the operator: for other callers their paths do not exist. */
const hidden = '/api/operator/';

/**
 * The methods of a path (RFC 9110, section 10.2.1), as `GET, HEAD, POST, OPTIONS`; null if it has no route. Only paths
 * of collections and globals that exist have routes, and whether they exist is no secret: a GET is a 401, not a 404.
 *
 * To be asked only if no other route took the request: each call goes through the routes once for each method.
 */
export function allowedMethods({ server, path }: { server: Server; path: string }): string | null {
  if (path.startsWith(hidden)) return null;
  const found = methods.filter((method) => {
    const route = server.match(method, path);
    return route !== null && route.method !== '*';
  });
  if (found.length === 0) return null;
  return [...found.flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()])), 'OPTIONS'].join(
    ', ',
  );
}

/** The refusal of a method that a path does not have, while it has others; null for a path without any. */
export function wrongMethod(request: Request): WrongMethodError | null {
  const allow = allowedMethods(request);
  return allow === null ? null : new WrongMethodError(request, allow);
}
