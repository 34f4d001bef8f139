import type { Request, Server } from '@hapi/hapi';
import { invalidField } from '../../../config/errors.ts';
import { shareNext } from '../../../events/shared-reads.ts';
import { isConfiguredKey } from '../../callers/authentication.ts';
import type { Reads } from '../../settings/settings.ts';
import type { Following } from '../../writer/messages.ts';
import type { OpenApp } from '../open-app.ts';

/** The way of a thread to what other nodes have appended, and what its reads wait for. */
export type UpToDate = { following: Following; reads: Reads };

const header = 'annals-position';

/** They say how this node is, and are not about the content. */
const isOwn = /^\/(?:health|ready|metrics)$|^\/admin(?:\/|$)/;

const readingMethods = new Set(['get', 'head']);

/** Has requests wait, before anything of them is decided, until this node has what they are to see; and tells where it is after a write. */
export function waitUntilUpToDate(server: Server, app: OpenApp): void {
  if (!app.upToDate) return;
  const { following, reads } = app.upToDate;
  const current = shareNext(following.current);

  server.ext('onRequest', async (request, h) => {
    const need = needOf(request);
    if (need === 'head') await current();
    else if (need > app.readPosition()) await following.reach(need);
    return h.continue;
  });

  server.ext('onPreResponse', ({ method, response }, h) => {
    const isWrite = !readingMethods.has(method) && method !== 'options';
    if (isWrite && !(response instanceof Error)) response.header(header, String(app.readPosition()));
    return h.continue;
  });

  /** The part of the log that a request has to see: all until now, or what there was up to a position. */
  function needOf(request: Request): 'head' | number {
    const { method, path } = request;
    if (method === 'options' || isOwn.test(path)) return 0;
    const position = reads === 'session' ? positionIn(request) : 0;
    const isDecided = reads === 'linear' || !readingMethods.has(method) || mayHaveEnded(request);
    return isDecided ? 'head' : position;
  }

  /** A session or a key that has ended on another node must not be accepted by this one, whatever reads wait for. */
  function mayHaveEnded({ headers }: Request): boolean {
    const key: unknown = headers['x-api-key'];
    if (headers.authorization !== undefined || headers.cookie !== undefined) return true;
    return key !== undefined && !isConfiguredKey(app, String(key));
  }
}

function positionIn({ headers }: Request): number {
  const text: unknown = headers[header];
  if (text === undefined) return 0;
  if (typeof text !== 'string' || !/^\d{1,15}$/.test(text))
    throw invalidField(header, 'must be a position, as the answer to a write has it');
  return Number(text);
}
