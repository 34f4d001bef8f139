import type { Request, ResponseToolkit, Server } from '@hapi/hapi';
import { readErasure } from '../../../config/erasures.ts';
import { DomainError } from '../../../config/errors.ts';
import { show } from '../../../config/suggest.ts';
import { splitStream } from '../../../events/facts/catalogue.ts';
import { type Erasure, erasedStreams } from '../../../events/facts/erasures.ts';
import { requireEraser } from '../../access/erasing.ts';
import type { AuditRights } from '../../access/rights.ts';
import { strategy } from '../../callers/authentication.ts';
import { answerOnce } from '../../documents/concurrency/answer-once.ts';
import { refuseKeyOfDryRun } from '../../documents/concurrency/idempotency-key.ts';
import { jsonPayload, readBody } from '../../http/body.ts';
import { locationOf } from '../../http/location.ts';
import { refuseDryRunIn } from '../../queries/dry-run.ts';
import { readQuery } from '../../queries/parameters.ts';
import { dryRunParameter } from '../../queries/query.ts';
import { namedAll, namingFor } from '../actor-names.ts';
import { versionParameters } from '../event-query.ts';
import { eraseOperation, erasureOperation, erasuresOperation, erasuresParameters } from '../exports/operations.ts';
import { readRoute } from '../reading.ts';
import { type ErasingApp, eraseDocument, previewErasure } from './erase.ts';

/** Erasing documents, and what became of erasures. */
export function erasures(server: Server, app: ErasingApp): void {
  const path = '/api/audit/erasures';

  server.route([
    {
      method: 'POST',
      path,
      options: {
        auth: strategy,
        payload: jsonPayload,
        plugins: { openApi: eraseOperation, takes: ['idempotency-key'] },
      },
      handler: async (request, h) => {
        await requireEraser({ app, request });
        const { dryRun: isDryRun } = readQuery(dryRunParameter, request.query, app);
        const body = await readBody(request, app.model.limits.body);
        refuseDryRunIn(body);
        const { collection, ...rest } = readErasure(body);
        // Rules and answers know it by its slug.
        const asked = { ...rest, collection: app.names.slugFor(collection) };
        if (isDryRun) refuseKeyOfDryRun(request);
        if (isDryRun) return previewErasure({ app, request }, asked);
        return answerOnce({ app, request, h, body }, async (app) => {
          const { answer, isFinished } = await eraseDocument({ app, request }, asked);
          const location = locationOf(app, `${path}/${answer.position}`);
          return { status: isFinished ? 201 : 202, body: answer, location };
        });
      },
    },
    readRoute(app, path, [erasuresOperation, list]),
    readRoute(app, `${path}/{position}`, [erasureOperation, showOne]),
  ]);

  async function list(request: Request, _h: ResponseToolkit, rights: AuditRights): Promise<object> {
    const { next: before, limit, actors } = readQuery(erasuresParameters, request.query, app);
    const found = app.events.erasures.before(before ?? Number.MAX_SAFE_INTEGER, limit);
    return {
      docs: await namedAll(
        namingFor(app, request, { rights, actors }),
        await Promise.all(found.map((one) => shown(one, rights))),
      ),
      next: found.length === limit ? found.at(-1)?.position : null,
    };
  }

  async function showOne(request: Request, _h: ResponseToolkit, rights: AuditRights): Promise<object> {
    const { actors } = readQuery(versionParameters, request.query, app);
    const text = String(request.params.position);
    const found = /^\d{1,15}$/.test(text) ? app.events.erasures.at(Number(text)) : null;
    if (!found) throw new DomainError('not_found', `event ${show(text)} is not an erasure`);
    const naming = namingFor(app, request, { rights, actors });
    const erasure = await shown(found, rights);
    return naming ? naming(erasure) : erasure;
  }

  async function shown({ position, files, isDone }: Erasure, { sightOf }: AuditRights) {
    const [event] = app.events.range(position - 1, position);
    if (!event) throw new Error(`event ${position} is missing`);
    const { header, data, context } = event;
    const [category, id] = splitStream(header.stream);
    const collection = app.names.slugFor(category);
    const isSeen = (await sightOf(header.stream)).extent !== 'none';
    const reason = isSeen ? { reason: context?.reason ?? null } : {};
    const elsewhere = isDone ? await app.erasures.elsewhere(position) : null;
    const isFinished = isDone && elsewhere === null;
    const waitsFor = isFinished ? null : files.length > 0 ? 'store' : 'data';
    return {
      position,
      recordedAt: header.recordedAt,
      collection,
      id,
      actor: header.actor,
      ...reason,
      streams: erasedStreams(data),
      finished: isFinished,
      waitsFor,
      obstacle: isDone ? elsewhere : await app.erasures.obstacle(position),
      progress: isDone ? null : await app.erasures.progress(),
    };
  }
}
