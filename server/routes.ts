import type { Plugin, Request, Server } from '@hapi/hapi';
import type { App } from './app.ts';
import { registerAuthentication, strategy } from './authentication.ts';
import { type Backlog, createBacklog } from './backlog.ts';
import { noPayload } from './body.ts';
import { openToOthers } from './cors-routes.ts';
import { answerErrors } from './errors.ts';
import { shedWrites } from './overload.ts';
import { noRoute, requestId } from './requests.ts';
import { accountPages } from './resources/account-pages.ts';
import { accounts } from './resources/accounts.ts';
import { collections } from './resources/collections.ts';
import { docs } from './resources/docs.ts';
import { erasures } from './resources/erasures.ts';
import { exports } from './resources/exports.ts';
import { feed } from './resources/feed.ts';
import { globals } from './resources/globals.ts';
import { health } from './resources/health.ts';
import { history } from './resources/history.ts';
import { media } from './resources/media.ts';
import { openApi } from './resources/openapi.ts';
import { operator } from './resources/operator.ts';
import { passwords } from './resources/passwords.ts';
import { preview } from './resources/preview.ts';
import { proofs } from './resources/proofs.ts';
import { registrations } from './resources/registrations.ts';
import { schemas } from './resources/schemas.ts';
import { checkUrl } from './url.ts';
import { varyByCaller, varyBySite } from './vary.ts';

type Resource = (server: Server, app: App) => void;

const resources: readonly Resource[] = [
  collections,
  globals,
  media,
  accounts,
  registrations,
  passwords,
  accountPages,
  exports,
  operator,
  proofs,
  history,
  feed,
  erasures,
  preview,
  schemas,
  openApi,
  docs,
  health,
];

/** All that a service answers, as a hapi plugin for servers of our own: with an extension that reaches every route of theirs. */
export const routes: Plugin<{ app: App; backlog?: Backlog }> = {
  name: 'annals-routes',
  register(server, { app, backlog = createBacklog(app.log) }) {
    registerAuthentication(server, app);
    const log = (err: Error, request: Request) =>
      app.log.error({ err, requestId: requestId(request) }, 'a request failed');
    server.ext(
      'onPreResponse',
      answerErrors(
        log,
        backlog.admit,
        openToOthers(server, app, strategy),
        app.site === null ? varyByCaller : varyBySite,
      ),
    );
    shedWrites(server, app);
    for (const resource of resources) resource(server, app);
    server.ext('onRequest', checkUrl);
    server.route({
      method: '*',
      path: '/{any*}',
      options: { auth: strategy, payload: noPayload },
      handler: (request) => {
        throw noRoute(request);
      },
    });
    answerWhole(server);
  },
};

/** By default hapi cuts any answer to the `Range` that is asked for: half a document in JSON is none. Files have ranges of their own. */
function answerWhole(server: Server): void {
  const ours = server.table().filter(({ realm }) => realm === server.realm);
  for (const { settings } of ours) settings.response = { ...settings.response, ranges: false };
}
