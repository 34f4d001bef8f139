import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { defaultDocument } from '../../../config/documents.ts';
import { DomainError } from '../../../config/errors.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { splitStream } from '../../../events/catalogue.ts';
import type { FirstAnswer } from '../../../events/log.ts';
import { authorize, authorizeGone } from '../../access/access.ts';
import type { App, Target } from '../../app.ts';
import type { Presenter } from '../answers.ts';
import { pastOf } from '../past/versions.ts';
import { sendTagged } from './etags.ts';

/** What a request does, as it was done before: with `data` as rules may look at it. */
export type Repeated = {
  target: Target;
  present: Presenter;
  operation: 'create' | 'update' | 'delete';
  data: unknown;
};

/**
 * Gives the first answer to an attempt again: the document as it was after it, or before its end. Whether the caller may do such
 * a thing is asked again; nothing else is.
 *
 * @throws DomainError `unauthorized` or `forbidden`; `conflict` where what the document was has been erased.
 */
export async function replayOf(
  app: App,
  request: Request,
  h: ResponseToolkit,
  { target, present, operation, data }: Repeated,
  { stream, version }: FirstAnswer,
): Promise<ResponseObject> {
  const [, id] = splitStream(stream);
  const past = await thenOf(app, target, stream, operation === 'delete' ? version - 1 : version);
  if (!past?.document)
    throw new DomainError('conflict', 'this was done before, but what the answer was has been erased');
  const { document: fields } = past;
  const document = answerOf(target, id, fields);
  const current = target.documents.current(id)?.document ?? (past.position === 0 ? document : null);
  if (operation === 'create') await authorize(app, request, target, operation, { doc: () => null, data });
  else if (current) await authorize(app, request, target, operation, { doc: () => current, data });
  else await authorizeGone(app, request, target, operation, { document: fields, position: past.position, data });
  const answer = await present.document(request, document);
  const response = h.response(answer).type('application/json').header('idempotent-replayed', 'true');
  if (operation === 'delete') return response;
  return sendTagged(request, h, answer, present.tag(version, answer)).header('idempotent-replayed', 'true');
}

/** A global that was never written is its defaults, and a write that changed nothing left it so. */
async function thenOf(
  app: App,
  { model }: Target,
  stream: string,
  version: number,
): Promise<{ document: JsonObject | null; position: number } | null> {
  if (model.kind === 'global' && version === 0) return { document: defaultDocument(model.fields), position: 0 };
  return pastOf(app, stream, { version });
}

function answerOf(target: Target, id: string, fields: JsonObject): JsonObject {
  if (target.model.kind === 'collection') return target.documentOf(id, fields);
  return { createdAt: fields.createdAt ?? null, updatedAt: fields.updatedAt ?? null, ...target.shape(fields) };
}
