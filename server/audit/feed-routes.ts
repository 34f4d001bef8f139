import { Readable } from 'node:stream';
import type { Request, ResponseToolkit, Server } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import { type AuditRights, auditRightsOf } from '../access/rights.ts';
import type { App, RouteParts } from '../app.ts';
import { maxSlots, takeSlot } from '../callers/answer-slots.ts';
import { strategy } from '../callers/authentication.ts';
import { isLivingKey } from '../callers/made-keys.ts';
import { sendText } from '../documents/read/sending.ts';
import { actorOf, madeKeyOf, requestId } from '../http/requests.ts';
import { yieldToEventLoop } from '../platform/yield.ts';
import { feedOperation } from './event-operations.ts';
import { type EventQuery, readFeedQuery } from './event-query.ts';
import { findEvents } from './events.ts';
import { readRoute } from './reading.ts';

type FeedApp = App & Pick<RouteParts, 'answerSlots'>;

/** The change feed of the log: as pages, or as server-sent events for a client that accepts those. */
export function feed(server: Server, app: FeedApp): void {
  const streams = openFeed(app);
  // Open streams would hold up the end of the service.
  server.ext('onPreStop', () => streams.close());

  server.route(readRoute(app, '/api/audit/feed', [feedOperation, send]));

  async function send(request: Request, h: ResponseToolkit, rights: AuditRights) {
    const isStream = wantsStream(request) && request.method === 'get';
    const lastEventId = request.headers['last-event-id'];
    const query = readFeedQuery(app, { query: request.query, lastEventId, isStream });
    return isStream ? sendStream(h, rights, query) : sendPage(h, rights, query);
  }

  type Query = ReturnType<typeof readFeedQuery>;

  async function sendPage(h: ResponseToolkit, rights: AuditRights, query: Query) {
    const { size } = app.events.head();
    const { events, reached } = await findEvents(app, rights, { ...query, stream: null, batch: null, upTo: size });
    const texts = events.map(({ text }) => text).join(',');
    return sendText(h, `{"docs":[${texts}],"next":${reached},"size":${size}}`).vary('accept');
  }

  async function sendStream(h: ResponseToolkit, rights: AuditRights, query: Query) {
    const { request } = h;
    const stream = await streams.open(request, query, rights);
    // A compressor, and some proxies, would buffer events until there are more.
    request.info.acceptEncoding = 'identity';
    return h
      .response(stream)
      .type('text/event-stream')
      .header('cache-control', 'no-store')
      .header('x-accel-buffering', 'no')
      .vary('accept');
  }
}

function wantsStream({ headers }: Request): boolean {
  return /(^|[\s,])text\/event-stream($|[\s;,])/i.test(String(headers.accept ?? ''));
}

/** Where a stream of events begins, and which events it has. */
type FeedQuery = Pick<EventQuery, 'after' | 'filter'>;

/** How many streams a thread has at most: each reads the log when there are new events. */
const mostStreams = 100;
const fullRetrySeconds = 10;
/** How many events are read from the log at a time. */
const chunk = 50;
const bufferBytes = 64 * 1024;

const heartbeatMilliseconds = 15_000;
/** How long rights are cached: while there are events to send, and while there are none. */
const rightsMilliseconds = { busy: 1000, idle: 2000 };
/** How long a slow client has to read the rest when the service ends. */
const partingMilliseconds = 2000;

/**
 * The streams of server-sent events of one thread (HTML Living Standard, section 9.2): the position is the `id`, so a
 * client that connects again with `Last-Event-ID` misses nothing. Events are read from the log when the client has read
 * those before, so a slow client costs no memory.
 */
function openFeed(app: FeedApp) {
  const news = openNews(app);
  const open = new Map<Readable, { end: AbortController; cut: () => void }>();
  let isClosed = false;

  /**
   * @throws DomainError `rate_limited` if the caller has too many streams; `unavailable` if there are too many of all
   * callers, or the service is shutting down.
   */
  async function start(request: Request, query: FeedQuery, rights: AuditRights): Promise<Readable> {
    requireRoom();
    const full = `a caller has at most ${maxSlots.stream} streams of events; end one of them, or read pages instead`;
    const leave = await takeSlot({ app, request }, 'stream', full);
    try {
      return begin(request, query, rights);
    } catch (error) {
      leave();
      throw error;
    }
  }

  function requireRoom(): void {
    if (isClosed || app.state() === 'stopping') throw new DomainError('unavailable', 'the service is shutting down');
    if (open.size >= mostStreams) {
      const message = `there are ${mostStreams} streams of events already; read pages instead, or try again later`;
      throw new DomainError('unavailable', message, [], fullRetrySeconds);
    }
  }

  /** @throws DomainError `unavailable`. */
  function begin(request: Request, query: FeedQuery, rights: AuditRights): Readable {
    // Other streams may have been opened since the first check.
    requireRoom();
    const { res } = request.raw;
    // For a client that left during the check of its rights, no `close` event follows.
    if (res.closed) throw new DomainError('unavailable', 'the client has gone');
    const end = new AbortController();
    const texts = logged(eventsFor(app, news, { request, query, rights, signal: end.signal }), { app, request });
    const stream = Readable.from(texts, { objectMode: false, highWaterMark: bufferBytes });
    open.set(stream, { end, cut: () => res.destroy() });
    // However the answer ends. A generator that waits for events is destroyed only when it waits no longer.
    res.once('close', () => {
      open.delete(stream);
      end.abort();
      stream.destroy();
    });
    return stream;
  }

  /** Ends all streams, and lets no others begin. */
  function close(): void {
    isClosed = true;
    const last = [...open.values()];
    for (const { end } of last) end.abort();
    setTimeout(() => {
      for (const { cut } of last) cut();
    }, partingMilliseconds).unref();
  }

  return { open: start, close };
}

type Listener = { request: Request; query: FeedQuery; rights: AuditRights; signal: AbortSignal };

/** The lines of a stream of events, until `signal` is aborted or the caller has no rights any more. */
async function* eventsFor(app: FeedApp, news: News, { request, query, rights: first, signal }: Listener) {
  const key = madeKeyOf(request);
  let rights: AuditRights | null = first;
  let asked = performance.now();
  let told = asked;
  let at = query.after;
  yield `retry: 1000\nid: ${at}\n\n`;
  while (!signal.aborted) {
    const isIdle = app.events.head().size <= at;
    if (performance.now() - asked > (isIdle ? rightsMilliseconds.idle : rightsMilliseconds.busy)) {
      rights = await rightsNow(app, request);
      asked = performance.now();
      if (!rights) return;
    }
    await yieldToEventLoop();
    // Rights are cached for a while; a revoked key gets no event that follows the answer to its revocation.
    if (key && !isLivingKey(app, key)) return;
    // Before events are read: `wait` then notices those that come meanwhile.
    const look = news.look();
    const { size } = app.events.head();
    const page = await findEvents(app, rights, {
      stream: null,
      batch: null,
      filter: query.filter,
      after: at,
      upTo: size,
      limit: chunk,
    });
    const hasMoved = page.reached > at;
    at = page.reached;
    if (page.events.length > 0) {
      told = performance.now();
      yield page.events
        .map(({ position, type, text }) => `id: ${position}\nevent: ${type}\ndata: ${text}\n\n`)
        .join('');
    } else if (!hasMoved || at === size) await news.wait(look, signal);
    if (performance.now() - told < heartbeatMilliseconds) continue;
    told = performance.now();
    // Also a client for whom there is no event learns how far the stream has come.
    yield `:\nid: ${at}\n\n`;
  }
}

/** Logs the error by which a stream ends. */
async function* logged(texts: AsyncGenerator<string>, { app, request }: { app: App; request: Request }) {
  try {
    yield* texts;
  } catch (err) {
    app.log.error({ err, requestId: requestId(request) }, 'a stream of events failed');
    throw err;
  }
}

/** The rights of the caller now, checked as for a new request; null if they are gone. */
async function rightsNow(app: App, request: Request): Promise<AuditRights | null> {
  try {
    const { credentials } = await request.server.auth.test(strategy, request);
    const [before, now] = [actorOf(request), credentials.user?.actor];
    if (now?.type !== before.type || now.id !== before.id) return null;
    // Read again when the rule asks for it.
    request.app.user = null;
    const rights = await auditRightsOf(app, request);
    return rights.has('headers') ? rights : null;
  } catch (err) {
    if (!(err instanceof DomainError))
      app.log.error({ err, requestId: requestId(request) }, 'a stream of events failed');
    return null;
  }
}

const pollMilliseconds = 100;

type News = ReturnType<typeof openNews>;

/**
 * Tells when the log has grown. Looks at the log while a stream waits: one look for all streams of a thread. The writer
 * is another thread, and the read file follows the log by a moment, so both are looked at.
 */
function openNews({ events, auditIndex }: Pick<App, 'events' | 'auditIndex'>) {
  const waiting = new Set<() => void>();
  let timer: NodeJS.Timeout | null = null;
  let seen = '';

  const state = () => `${events.head().size} ${auditIndex.reached()}`;

  function look(): void {
    const now = state();
    if (now === seen) return;
    seen = now;
    for (const wake of waiting) wake();
  }

  return {
    look: state,
    /**
     * Resolves when there is something new since a look, when `signal` is aborted, or when it is time to check rights.
     */
    async wait(before: string, signal: AbortSignal): Promise<void> {
      if (state() !== before || signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const alarm = setTimeout(resolve, rightsMilliseconds.idle);
      waiting.add(resolve);
      const wake = () => resolve();
      signal.addEventListener('abort', wake, { once: true });
      timer ??= setInterval(look, pollMilliseconds);
      await promise.finally(() => {
        clearTimeout(alarm);
        waiting.delete(resolve);
        signal.removeEventListener('abort', wake);
        if (waiting.size > 0 || timer === null) return;
        clearInterval(timer);
        timer = null;
        seen = '';
      });
    },
  };
}
