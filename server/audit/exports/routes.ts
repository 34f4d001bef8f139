import { Readable } from 'node:stream';
import type { Request, ResponseObject, ResponseToolkit, Server } from '@hapi/hapi';
import { create as dispositionOf } from 'content-disposition';
import { DomainError } from '../../../config/errors.ts';
import { show } from '../../../config/suggest.ts';
import { retryAfterFetch } from '../../../events/segments/fetching.ts';
import { type AuditRights, requireAudit } from '../../access/rights.ts';
import { hiddenByRules, type Sight } from '../../access/sight.ts';
import type { App, RouteParts } from '../../app.ts';
import { maxSlots, takeSlot } from '../../callers/answer-slots.ts';
import { strategy } from '../../callers/authentication.ts';
import { isFromOwnPage } from '../../callers/cookies.ts';
import { noteReason } from '../../http/reason.ts';
import { madeKeyOf, requestId } from '../../http/requests.ts';
import type { ApiOperation } from '../../openapi/operation.ts';
import { readQuery } from '../../queries/parameters.ts';
import { streamOf } from '../subjects.ts';
import { bundleZip } from './bundle.ts';
import { exportZip } from './export.ts';
import { type BundleSubject, bundleOperation, exportOperation } from './operations.ts';
import { provenBy } from './proofs.ts';
import { bundleParameters, countOf, readExportQuery, recordExport, requireWithin } from './request.ts';

/** The subjects of evidence packs, by the path. */
const bundled: Record<string, BundleSubject> = {
  '{slug}/{id}': 'document',
  'globals/{slug}': 'global',
  'accounts/{slug}/{id}': 'account',
};

const full = `a caller has at most ${maxSlots.archive} exports and evidence packs under way; try again when one has ended`;
/** How long a client may pause while it reads an archive. */
const stallMilliseconds = 120_000;

type ArchiveApp = App & Pick<RouteParts, 'answerSlots'>;

/** Evidence packs of single documents, and exports of the log, as ZIP archives. */
export function exports(server: Server, app: ArchiveApp): void {
  const optionsOf = (openApi: () => ApiOperation) => {
    const plugins = { openApi, recordsAnEvent: true } as const;
    return { auth: strategy, timeout: { socket: stallMilliseconds }, plugins };
  };
  for (const [path, name] of Object.entries(bundled)) {
    server.route({
      method: 'GET',
      path: `/api/audit/bundles/${path}`,
      options: optionsOf(() => bundleOperation(name)),
      handler: (request, h) => sendBundle(app, name, { request, h }),
    });
  }
  server.route({
    method: 'GET',
    path: '/api/audit/export',
    options: optionsOf(exportOperation),
    handler: (request, h) => sendExport(app, { request, h }),
  });
}

type HandlerArguments = { request: Request; h: ResponseToolkit };

async function sendExport(app: ArchiveApp, { request, h }: HandlerArguments): Promise<ResponseObject> {
  const rights = await requireAudit(app, request, 'export');
  const { format, filters, from, to: asked, since } = readExportQuery(app, request.query);
  if (request.method === 'head') return archive(app, h, { bytes: null, name: 'annals-export.zip' });
  refuseForeign(app, request, 'an export');
  await takeSlot({ app, request }, 'archive', full);
  // Signed before the export is recorded, so that the export does not contain its own event.
  const checkpoint = await app.notary.checkpoint();
  requireWithin(since, checkpoint.size);
  const to = asked ?? checkpoint.size;
  const exported = {
    ...(await provenBy(app, checkpoint, { position: to, since })),
    format,
    from,
    to,
    filters,
    seesPayloadsOf: rights.has('payloads') ? (stream: string) => rights.toPayloadsOf(stream) === 'all' : null,
    madeAt: new Date(app.clock.believed()),
  };
  noteReason(request, null);
  const events = await countOf(app.events, exported);
  await recordExport({ app, request }, { from, to, format, filters, events });
  return archive(app, h, { bytes: await exportZip(exported), name: `annals-export-${from}-${to}.zip` })
    .header('annals-range', `${from}-${to}`)
    .header('annals-events', String(events))
    .header('annals-checkpoint', `${checkpoint.size} ${checkpoint.root}`);
}

async function sendBundle(
  app: ArchiveApp,
  subject: BundleSubject,
  { request, h }: HandlerArguments,
): Promise<ResponseObject> {
  const rights = await requireAudit(app, request, 'payloads');
  const stream = streamOf[subject](request.params, app.names);
  if (stream !== null) await sightOn(stream, request, rights);
  const { events: log, notary, blobs } = app;
  const { files: withFiles, complete: isComplete, since } = readQuery(bundleParameters, request.query, app);
  if (stream === null) {
    const asked = Object.values(request.params).join('/');
    throw new DomainError('not_found', `no ${subject} can be called ${show(asked)}`);
  }
  if (log.versionOf(stream) === 0) throw new DomainError('not_found', `the log has no stream ${show(stream)}`);
  const name = `annals-${stream.replaceAll('/', '-')}.zip`;
  if (request.method === 'head') return archive(app, h, { bytes: null, name });
  refuseForeign(app, request, 'an evidence pack');
  await takeSlot({ app, request }, 'archive', full);
  const checkpoint = await notary.checkpoint();
  requireWithin(since, checkpoint.size);
  const last = log.lastOf(stream, checkpoint.size);
  const proven = await provenBy(app, checkpoint, { position: last?.position ?? 0, since });
  // The rules for reading are asked after the checkpoint, about all that it covers.
  const sight = await sightOn(stream, request, rights);
  const made = { ...proven, blobs, stream, sight, withFiles, isComplete };
  const madeAt = new Date(app.clock.believed());
  noteReason(request, null);
  // All segments that the pack needs are fetched before it is recorded: a refusal records nothing.
  const bytes = await retryAfterFetch(() => bundleZip(made, madeAt));
  const answer = archive(app, h, { bytes, name }).header('annals-checkpoint', `${checkpoint.size} ${checkpoint.root}`);
  const events = last?.version ?? 0;
  try {
    const exported = { from: 1, to: checkpoint.size, format: 'bundle', filters: { stream }, events };
    await recordExport({ app, request }, exported);
  } catch (error) {
    bytes.destroy();
    throw error;
  }
  return answer;
}

/** @throws DomainError `forbidden` for a caller who sees nothing of the stream. */
async function sightOn(stream: string, request: Request, { toPayloadsOf, sightOf }: AuditRights): Promise<Sight> {
  const sight = await sightOf(stream);
  if (sight.extent !== 'none') return sight;
  if (toPayloadsOf(stream) === 'byRules') throw hiddenByRules(stream);
  const what = madeKeyOf(request) ? 'this' : 'accounts of this collection';
  throw new DomainError('forbidden', `an API key may not see payloads about ${what}`);
}

/** @param bytes null if only the head is asked for. */
function archive(
  { log }: App,
  h: ResponseToolkit,
  { bytes, name }: { bytes: Readable | null; name: string },
): ResponseObject {
  const { request } = h;
  const { res } = request.raw;
  // hapi would end the answer as if it were whole. An answer that is cut off shows the client that it is not.
  bytes?.on('error', (err) => {
    if (res.destroyed) return;
    log.error({ err, requestId: requestId(request) }, 'an archive was cut off');
    res.destroy();
  });
  if (res.closed) bytes?.destroy();
  else res.once('close', () => bytes?.destroy());
  request.info.acceptEncoding = 'identity';
  const response = h
    // The response is a stream, since the length of the archive is not known before it is made.
    .response(bytes ?? Readable.from([], { objectMode: false }))
    .code(200)
    .type('application/zip')
    .header('content-disposition', dispositionOf(name))
    .header('cache-control', 'no-store');
  // A ZIP has no character set.
  response.charset('');
  return response;
}

/**
 * Refuses an export that a page of another site asks for with the cookie of a user (CSRF), by a link or an image: each
 * export is recorded. As for a write, the browser must say that the request comes from an own page, or that its user
 * typed the address.
 */
function refuseForeign({ baseUrl }: App, request: Request, what: string): void {
  const { 'x-api-key': key, authorization, 'sec-fetch-site': site } = request.headers;
  if (key !== undefined || authorization !== undefined || site === 'none' || isFromOwnPage(request, baseUrl)) return;
  throw new DomainError('forbidden', `${what} under a cookie must be asked for by a page of the same origin`);
}
