import type { Request, Server, ServerRoute } from '@hapi/hapi';

/**
 * Routes that a server adds with the first request for their paths, for example those of one collection: hapi validates
 * and copies the options of each route in each thread, which was a third of the start of a thread.
 */
export type LazyRoutes = {
  /** The same server, but its `route` only keeps routes. */
  keepFor: (server: Server) => Server;
  /** Adds the kept routes for the path of a request; to be called before hapi looks for the route. */
  addFor: (request: Request) => void;
};

export function createLazyRoutes(): LazyRoutes {
  const parts = new Map<string, { server: Server; routes: ServerRoute[] }>();

  function keep(server: Server, route: ServerRoute): void {
    const part = partOf(route.path);
    if (isNeededAtOnce(route)) server.route(route);
    else if (parts.has(part)) parts.get(part)?.routes.push(route);
    else parts.set(part, { server, routes: [route] });
  }

  return {
    keepFor(server) {
      const route = (routes: ServerRoute | ServerRoute[]) => {
        for (const one of [routes].flat()) keep(server, one);
      };
      return Object.create(server, { route: { value: route } });
    },
    addFor({ path }) {
      if (parts.size === 0) return;
      const part = partOf(path);
      const kept = parts.get(part);
      if (!kept) return;
      parts.delete(part);
      kept.server.route(kept.routes);
    },
  };
}

/** The first segments of a path: up to the collection or global, if the path has one. */
function partOf(path: string): string {
  return /^\/api\/(?:collections|globals|media)\/[^/]+|^\/api\/[^/]+|^\/[^/]*/.exec(path)?.[0] ?? '';
}

/** Whether a route is added at once: its path begins with a parameter, or it is looked up without a request of hapi. */
function isNeededAtOnce({ path, options }: ServerRoute): boolean {
  return partOf(path).includes('{') || (typeof options === 'object' && options.plugins?.neverShed === true);
}
