import type { IncomingMessage, Server as Listener, ServerResponse } from 'node:http';
import type { Server } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import { createListener, guardListener } from '../../http/listener.ts';
import { endsSoon } from '../../platform/state.ts';
import { type CommonOptions, noSite, openCommon, type SiteCounts } from './common.ts';
import { siteOf } from './find.ts';

/**
 * The one listener of a thread that serves several sites. It finds the site of each request and passes the request on.
 */
export type Front = {
  listener: Listener;
  /**
   * From now on the server, which never listens, answers the requests of the site. @param origins the origins of pages
   * that may call the site.
   */
  open: (site: string, server: Server, origins: readonly string[]) => void;
  /** From now on requests of the site are refused; resolves when the open ones are over, or take too long. */
  close: (site: string) => Promise<void>;
  /** Takes no more connections; resolves when all requests are over, or take too long. */
  stop: () => Promise<void>;
};

type Options = Omit<CommonOptions, 'counts'> & {
  /** The ids of all sites, also of those that cannot be reached. */
  sites: readonly string[];
  /** How many milliseconds requests may take to end. */
  patience: number;
};

/** A site. It has no server while it starts, or after it has failed. */
type Site = {
  server: Server | null;
  origins: readonly string[];
  isStarting: boolean;
  /** The number of open requests, and the callback for when they are done. */
  requests: number;
  onIdle: () => void;
};

/** Opens the listener, which does not listen yet; all sites are starting. */
export async function openFront({ sites: ids, patience, ...options }: Options): Promise<Front> {
  const sites = new Map(ids.map((id): [string, Site] => [id, newSite()]));
  const common = await openCommon({ ...options, counts: () => countsOf([...sites.values()]) });

  /** hapi takes requests by these two events; so does each server behind the listener. */
  function passOn(event: 'request' | 'checkContinue') {
    return (request: IncomingMessage, response: ServerResponse) => {
      const id = siteOf(request);
      const site = id === null ? undefined : sites.get(id);
      if (site) site.requests += 1;
      response.once('close', () => {
        if (!site) return;
        site.requests -= 1;
        if (site.requests === 0) site.onIdle();
      });
      if (site?.server) {
        site.server.listener.emit(event, request, response);
        return;
      }
      if (site) common.refuse(request, unavailable(site));
      else if (id !== null) common.refuse(request, noSite());
      common.server.listener.emit(event, request, response);
    };
  }

  const listener = createListener();
  listener.on('request', passOn('request')).on('checkContinue', passOn('checkContinue'));
  const { connections } = guardListener(listener, () => endsSoon(options.state()));

  function open(id: string, server: Server, origins: readonly string[]): void {
    const site = sites.get(id) as Site;
    site.server = server;
    site.origins = origins;
    site.isStarting = false;
    common.openTo([...new Set([...sites.values()].flatMap((site) => site.origins))]);
  }

  async function close(id: string): Promise<void> {
    const site = sites.get(id) as Site;
    const { server } = site;
    site.server = null;
    site.isStarting = false;
    // Streams end.
    await server?.stop();
    if (site.requests === 0) return;
    await within(patience, (done) => {
      site.onIdle = done;
    });
  }

  async function stop(): Promise<void> {
    const servers = [...sites.values()].flatMap(({ server }) => server ?? []);
    const closed = Promise.withResolvers<void>();
    await connections.end(closed.resolve);
    // From now on responses say that their connection ends.
    await Promise.all([common.server, ...servers].map((server) => server.stop()));
    await within(patience, (done) => closed.promise.then(done));
    listener.closeAllConnections();
  }

  return { listener, open, close, stop };
}

function newSite(): Site {
  return { server: null, origins: [], isStarting: true, requests: 0, onIdle: () => {} };
}

function countsOf(sites: readonly Site[]): SiteCounts {
  const starting = sites.filter(({ isStarting }) => isStarting).length;
  const unavailable = sites.filter(({ server, isStarting }) => !server && !isStarting).length;
  return { sites: sites.length, starting, unavailable };
}

function unavailable({ isStarting }: Site): DomainError {
  return new DomainError('unavailable', isStarting ? 'the site is starting' : 'the site is not available');
}

async function within(milliseconds: number, run: (done: () => void) => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  run(resolve);
  await promise;
  clearTimeout(timer);
}
