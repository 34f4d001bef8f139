import type { ApiOperation } from '../../../server/openapi/operation.ts';
import { tableOf, withApp } from '../../helpers/openapi.ts';

/**
 * A route of a service, with its description; null if no document describes it. `kind` and `slug` are those of its id.
 */
export type Route = {
  name: string;
  method: string;
  path: string;
  operation: ApiOperation | null;
  kind: string;
  slug: string;
};

/** The routes that a service of a configuration has. */
export function routesOfConfig(config: object): Promise<Route[]> {
  return withApp(config, async (app) => {
    const table = await tableOf(app);
    return table.map(({ method, path, settings }) => {
      const operation = settings.plugins?.openApi?.() ?? null;
      const [, kind = '', slug = ''] = /^((?:audit_)?[^_]+)_?(.*)$/.exec(operation?.id ?? '') ?? [];
      return { name: `${method.toUpperCase()} ${path}`, method: method.toUpperCase(), path, operation, kind, slug };
    });
  });
}
