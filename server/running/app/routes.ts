import type { Plugin, Request, RequestRoute } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import { isOutsideScopes } from '../../access/key-scopes.ts';
import { registerAuthentication, strategy } from '../../callers/authentication.ts';
import { varyByCaller, varyBySite } from '../../callers/vary.ts';
import { type Backlog, createBacklog } from '../../http/backlog.ts';
import { noPayload } from '../../http/body.ts';
import { registerCors } from '../../http/cors-routes.ts';
import { allOf, answerErrors } from '../../http/errors.ts';
import type { LazyRoutes } from '../../http/lazy-routes.ts';
import { wrongMethod } from '../../http/methods.ts';
import { awaitSegments } from '../../http/offloaded.ts';
import { tellRateLimit } from '../../http/rate-limit.ts';
import { actorOf, noRoute, requestId } from '../../http/requests.ts';
import { securityTxt } from '../../http/security-txt.ts';
import { registerStatic } from '../../http/static.ts';
import { docs } from '../../openapi/docs/routes.ts';
import { webhooks } from '../../webhooks/routes.ts';
import { health } from '../health.ts';
import { openApi } from '../openapi-routes.ts';
import { operator } from '../operator.ts';
import { accountResources } from './account-resources.ts';
import { auditResources } from './audit-resources.ts';
import { documentResources, editingResources } from './document-resources.ts';
import { movedPath } from './moved-paths.ts';
import type { Resource, RoutedApp } from './resource.ts';

/** In the order in which the OpenAPI document has them. */
const resources: readonly Resource[] = [
  ...documentResources,
  ...accountResources,
  webhooks,
  ...auditResources,
  operator,
  ...editingResources,
  openApi,
  docs,
  securityTxt,
  health,
];

type Options = {
  app: RoutedApp;
  backlog?: Backlog;
  lazy?: LazyRoutes;
  /** True if no other extension of the server looks at answers. */
  isAlone?: boolean;
};

/**
 * All that a service answers, as a hapi plugin for servers of our own: with an extension that reaches every route of
 * theirs.
 */
export const routes: Plugin<Options> = {
  name: 'annals-routes',
  async register(server, { app, backlog = createBacklog(app.log), lazy, isAlone = false }) {
    server.events.on('route', (route) => {
      if (route.realm !== server.realm) return;
      answerWhole(route);
      if (app.hasBucket) awaitSegments(route);
    });
    await registerStatic(server);
    registerAuthentication(server, app);
    const log = (err: Error, request: Request) => {
      app.log.error({ err, requestId: requestId(request) }, 'a request failed');
      return app.tellsErrors ? err.message : undefined;
    };
    const vary = app.site === null ? varyByCaller : varyBySite;
    const addTo = allOf(registerCors(server, app, strategy), vary, ...tellRateLimit(app.model));
    server.ext('onPreResponse', answerErrors(log, { backlog, addTo }));
    if (isAlone) server.realm.plugins.atOnce = { backlog, addTo };
    const host = lazy?.keepFor(server) ?? server;
    for (const resource of resources) resource(host, app);
    server.route({
      method: '*',
      path: '/{any*}',
      options: { auth: strategy, payload: noPayload },
      handler: (request) => {
        throw movedPath(request) ?? wrongMethod(request) ?? formerPath(app, request) ?? noRoute(request);
      },
    });
  },
};

/**
 * The refusal of a path that a collection had before it was renamed, for callers who may know the names of collections.
 */
function formerPath({ model, collections, formerSlugs }: RoutedApp, request: Request): DomainError | null {
  const [, before = '', slug = ''] = /^(\/api\/(?:collections|media)\/)([^/]+)/.exec(request.path) ?? [];
  const target = slug === '' ? undefined : collections.get(formerSlugs().get(slug) ?? '');
  if (!target) return null;
  const isNamed = actorOf(request).type !== 'anonymous' && !isOutsideScopes(request, target.model, 'read');
  if (!isNamed && !model.publicSchema) return null;
  const now = `the collection ${slug} is ${target.slug} now, under ${before}${target.slug}`;
  return new DomainError('route_not_found', `${noRoute(request).message}: ${now}`);
}

/**
 * By default hapi cuts any answer to the `Range` that is asked for: half a JSON document is not one. Files have ranges
 * of their own.
 */
function answerWhole({ settings }: RequestRoute): void {
  settings.response = { ...settings.response, ranges: false };
}
