import type { App } from '../app.ts';

/**
 * The address of something new, for `Location`: a path, which begins with the path at which clients reach the service.
 *
 * @param path of a route, such as `/api/keys/<id>`.
 */
export function locationOf({ basePath }: Pick<App, 'basePath'>, path: string): string {
  return (basePath.endsWith('/') ? basePath.slice(0, -1) : basePath) + path;
}
