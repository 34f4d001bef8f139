import type { Request, ResponseToolkit, Server } from '@hapi/hapi';
import type { AuditRights } from '../access/rights.ts';
import type { App } from '../app.ts';
import { sendText } from '../documents/sending.ts';
import { feedOperation } from './event-operations.ts';
import { readFeedQuery } from './event-query.ts';
import { findEvents } from './events.ts';
import { openFeed } from './feed.ts';
import { readRoute } from './reading.ts';

/** The change feed of the log: as pages, or as server-sent events for a client that accepts those. */
export function feed(server: Server, app: App): void {
  const streams = openFeed(app);
  // Those that listen would hold up the end of the service.
  server.ext('onPreStop', () => streams.close());

  server.route(readRoute(app, '/api/audit/feed', [feedOperation, send]));

  async function send(request: Request, h: ResponseToolkit, rights: AuditRights) {
    const isStream = wantsStream(request) && request.method === 'get';
    const lastEventId = request.headers['last-event-id'];
    const query = readFeedQuery(app, { query: request.query, lastEventId, isStream });
    return isStream ? sendStream(h, rights, query) : sendPage(h, rights, query);
  }

  type Query = ReturnType<typeof readFeedQuery>;

  function sendPage(h: ResponseToolkit, rights: AuditRights, query: Query) {
    const { size } = app.events.head();
    const { events, reached } = findEvents(app, rights, { ...query, stream: null, upTo: size });
    const texts = events.map(({ text }) => text).join(',');
    return sendText(h, `{"events":[${texts}],"next":${reached},"size":${size}}`).vary('accept');
  }

  function sendStream(h: ResponseToolkit, rights: AuditRights, query: Query) {
    const { request } = h;
    // A compressor, and some proxies, would buffer events until there are more.
    request.info.acceptEncoding = 'identity';
    return h
      .response(streams.open(request, query, rights))
      .type('text/event-stream')
      .header('cache-control', 'no-store')
      .header('x-accel-buffering', 'no')
      .vary('accept');
  }
}

function wantsStream({ headers }: Request): boolean {
  return /(^|[\s,])text\/event-stream($|[\s;,])/i.test(String(headers.accept ?? ''));
}
