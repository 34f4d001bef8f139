import type { Request, Server } from '@hapi/hapi';
import type { App } from '../app.ts';
import { statusSent } from '../http/errors.ts';
import { actorOf, addressOf, requestId } from '../http/requests.ts';
import { queuedMilliseconds } from '../http/write-admission.ts';

/** One line per request. No query: it may hold search terms, or a token. */
export function logRequests(server: Server, { log, state }: Pick<App, 'log' | 'state'>): void {
  if (!log.isLevelEnabled('info')) return;
  server.events.on('response', (request) => {
    // A first load has hundreds of requests, which would hide what the reader of the log looks for.
    if (state() !== 'starting') log.writeInfo(membersOf(request));
  });
}

/**
 * The members of a line as JSON. They are written out because the general way takes as long as finding the document.
 */
function membersOf(request: Request): string {
  const { info, method, path, raw, app } = request;
  const advice = app.advice === undefined ? '' : `,"advice":${JSON.stringify(app.advice)}`;
  const missing =
    app.missingIndexes === undefined ? '' : `,"missingIndex":${JSON.stringify(app.missingIndexes.join(', '))}`;
  const took = info.completed || info.responded;
  const milliseconds = took > 0 ? took - info.received + Math.round(queuedMilliseconds(raw.req)) : null;
  return (
    `"requestId":"${requestId(request)}","method":${JSON.stringify(method.toUpperCase())},"path":${JSON.stringify(path)},` +
    `"status":${statusSent(request)},"milliseconds":${milliseconds},` +
    `"actor":${JSON.stringify(actorOf(request))},"ip":${JSON.stringify(addressOf(request))}${advice}${missing}`
  );
}
