import type { Request, ResponseObject, ResponseToolkit, Server } from '@hapi/hapi';
import { defaultDocument } from '../../config/documents.ts';
import { DomainError } from '../../config/errors.ts';
import type { Global } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import { decideNothing } from '../../events/accounts.ts';
import { globalStream } from '../../events/catalogue.ts';
import { type Current, decideGlobalUpdate } from '../../events/documents.ts';
import type { FirstAnswer } from '../../events/log.ts';
import type { DocumentVersion } from '../../projections/documents.ts';
import { authorize, requireCredential } from '../access/access.ts';
import type { App, Target } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { jsonPayload, readBody } from '../http/body.ts';
import { noteReason } from '../http/reason.ts';
import { readDepth, readNoQuery } from '../queries/query.ts';
import { presenterOf } from './answers.ts';
import { atMostOnce } from './concurrency/attempts.ts';
import { sendTagged, textTag } from './concurrency/etags.ts';
import { requireExpected } from './concurrency/precondition.ts';
import { replayOf } from './concurrency/replay.ts';
import { readGlobalOperation, restoreGlobalOperation, updateGlobalOperation } from './global-operations.ts';
import { after } from './hooks.ts';
import { lookBack, tellPosition } from './past/as-of.ts';
import { restore } from './past/restore.ts';
import type { Restorable } from './past/restore-plan.ts';
import { checkedValues, write } from './writes.ts';

/** The globals (contract, section 4.3): one document each, addressed by slug, there from the start with its defaults. */
export function globals(server: Server, app: App): void {
  for (const target of app.globals.values()) routesOf(server, app, target);
}

function routesOf(server: Server, app: App, target: Target<Global>): void {
  const { slug, documents, model } = target;
  const path = `/api/globals/${slug}`;
  const maxBytes = app.model.limits.body;

  const stream = globalStream(slug);
  const present = presenterOf(app, target);

  server.route([
    {
      method: 'GET',
      path,
      options: { auth: strategy, plugins: { openApi: () => readGlobalOperation(app.model, model) } },
      handler: async (request, h) => {
        const moment = await lookBack(app, request, target);
        const { document, version } = current();
        await authorize(app, request, target, 'read', { doc: () => document, data: null });
        const then = moment ? shaped(versionOf(documents.asOf(slug, moment.position))) : null;
        if (then) await authorize(app, request, target, 'read', { doc: () => then.document, data: null, isPast: true });
        const depth = readDepth(request.query);
        const answer = await present.document(request, answerOf(then?.document ?? document), depth);
        return tellPosition(request, sendTagged(request, h, answer, textTag((then ?? { version }).version, answer)));
      },
    },
    {
      method: 'PATCH',
      path,
      options: {
        auth: strategy,
        plugins: { openApi: () => updateGlobalOperation(app.model, model), takes: ['if-match', 'idempotency-key'] },
        payload: jsonPayload,
      },
      handler: async (request, h) => {
        requireCredential(request, target, 'update');
        const body = await readBody(request, maxBytes);
        const repeated = { target, present, operation: 'update', data: body } as const;
        const replay = (first: FirstAnswer) => replayOf(app, request, h, repeated, first);
        return atMostOnce(app, request, target, { body }, replay, () => update(request, h, body));
      },
    },
    {
      method: 'POST',
      path: `${path}/restore`,
      options: {
        auth: strategy,
        plugins: { openApi: () => restoreGlobalOperation(model), takes: ['if-match', 'idempotency-key'] },
        payload: jsonPayload,
      },
      handler: async (request, h) => {
        requireCredential(request, target, 'update');
        return restore(restorable(request), h, await readBody(request, maxBytes));
      },
    },
  ]);

  function restorable(request: Request): Restorable {
    async function refuseMissing(): Promise<never> {
      const { document } = current();
      await authorize(app, request, target, 'update', { doc: () => document, data: null });
      throw new DomainError('conflict', `the global ${slug} was never written: it has no versions`);
    }
    return { app, request, target, present, stream, id: slug, answerOf, current, refuseMissing };
  }

  async function update(request: Request, h: ResponseToolkit, body: unknown): Promise<ResponseObject> {
    const { occasion, document, version } = await write(app, request, stream, async () => {
      const before = current();
      await authorize(app, request, target, 'update', { doc: () => before.document, data: body });
      await requireExpected({ app, request, target, present, stream, answerOf }, before);
      readNoQuery(request.query);
      noteReason(request, model);
      const occasion = { request, operation: 'update', doc: before.document } as const;
      const values = await checkedValues(app, target, occasion, body);
      const decision = decideGlobalUpdate(slug, before, values, app.ids.next().at);
      const set = decision?.events[0]?.data.set as JsonObject | undefined;
      const document = answerOf({ ...before.document, ...set });
      const version = before.version + (decision ? 1 : 0);
      const named = request.app.attempt ? decideNothing(stream, before.version) : null;
      return { decision: decision ?? named, answer: { occasion: decision && occasion, document, version } };
    });
    const shown = occasion ? await after(app, target, 'afterChange', occasion, document) : document;
    const answer = await present.document(request, shown);
    return sendTagged(request, h, answer, textTag(version, answer));
  }

  function current(): Current {
    return shaped(documents.current(slug));
  }

  function shaped(found: Current | null): Current {
    if (!found) return { version: 0, document: target.shape(defaultDocument(model.fields)) };
    const { id: _slug, ...document } = found.document;
    return { version: found.version, document };
  }

  function versionOf(found: DocumentVersion | null): Current | null {
    return found && { version: found.version, document: JSON.parse(found.text) };
  }

  function answerOf(values: JsonObject): JsonObject {
    return { createdAt: values.createdAt ?? null, updatedAt: values.updatedAt ?? null, ...target.shape(values) };
  }
}
