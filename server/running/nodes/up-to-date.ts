import type { Request, Server } from '@hapi/hapi';
import { DomainError, inHeader, invalidField } from '../../../config/errors.ts';
import { shareNext } from '../../../events/replica/share-next.ts';
import { isConfiguredKey } from '../../callers/authentication.ts';
import type { Agreement } from '../../platform/state.ts';
import type { Reads } from '../../settings/settings.ts';
import type { Following } from '../../writer/messages.ts';
import type { OpenApp } from '../app/open-app.ts';

/** How a thread sees the events of other nodes. `reads`: the events that its reads wait for. */
export type UpToDate = { following: Following; reads: Reads; agreement: () => Agreement };

/** The operator's request to apply the configuration of a node that waits. */
export const applyPath = '/api/operator/schema/apply';

const header = 'annals-position';

/** Paths whose answers are about this node, and not about the content. */
const isOwn = /^\/(?:health|ready|metrics)$|^\/admin(?:\/|$)/;

const readingMethods = new Set(['get', 'head']);

/**
 * Lets requests wait, before anything of them is decided, until this node has the events that they have to see; and
 * gives the position of the node after a write.
 */
export function waitUntilUpToDate(server: Server, app: OpenApp): void {
  if (!app.upToDate) return;
  const { following, reads, agreement } = app.upToDate;
  const current = shareNext(following.current);

  server.ext('onRequest', async (request, h) => {
    if (agreement() === 'current') await waitFor(needOf(request));
    // It may have changed since.
    if (agreement() !== 'current' && !isAnswered(request)) await admitOutdated(request);
    return h.continue;
  });

  server.ext('onPreResponse', ({ method, response }, h) => {
    const isWrite = !readingMethods.has(method) && method !== 'options';
    if ((isWrite || agreement() !== 'current') && !(response instanceof Error))
      response.header(header, String(app.appliedPosition()));
    return h.continue;
  });

  async function waitFor(need: 'head' | number): Promise<void> {
    if (need === 'head') await current();
    else if (need > app.appliedPosition()) await following.reach(need);
  }

  /**
   * Admits a read as of the last position of the former configuration.
   *
   * @throws DomainError for a request that must see the present.
   */
  async function admitOutdated(request: Request): Promise<void> {
    if (agreement() === 'waiting') throw unavailable('this node waits for its configuration to be applied');
    const isRead = readingMethods.has(request.method) && positionIn(request) <= app.appliedPosition();
    if (isRead && mayHaveEnded(request)) await current();
    const isServed = agreement() === 'outdated' || (agreement() === 'accounts-changed' && !mayHaveEnded(request));
    if (!isRead || !isServed) throw unavailable('another configuration was applied: this node is about to end');
  }

  /** The part of the log that a request has to see: its head, or a position. */
  function needOf(request: Request): 'head' | number {
    const { method } = request;
    if (isAnswered(request)) return 0;
    const position = reads === 'session' ? positionIn(request) : 0;
    const isDecided = reads === 'linear' || !readingMethods.has(method) || mayHaveEnded(request);
    return isDecided ? 'head' : position;
  }

  /** A session or a key that has ended on another node must not be accepted by this node, whatever reads wait for. */
  function mayHaveEnded({ headers }: Request): boolean {
    const key: unknown = headers['x-api-key'];
    if (headers.authorization !== undefined || headers.cookie !== undefined) return true;
    return key !== undefined && !isConfiguredKey(app, String(key));
  }
}

/** Whether a request is answered in any state of this node. */
function isAnswered({ method, path }: Request): boolean {
  return method === 'options' || isOwn.test(path) || path === applyPath;
}

const retrySeconds = 1;

function unavailable(message: string): DomainError {
  return new DomainError('unavailable', `${message}: nothing was recorded, try again`, [], retrySeconds);
}

function positionIn({ headers }: Request): number {
  const text: unknown = headers[header];
  if (text === undefined) return 0;
  if (typeof text !== 'string' || !/^\d{1,15}$/.test(text))
    throw invalidField(inHeader(header, 'format'), 'must be a position, as the answer to a write has it');
  return Number(text);
}
