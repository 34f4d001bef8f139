import type { ResponseObject } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { splitStream } from '../../../events/catalogue.ts';
import type { FirstAnswer } from '../../../events/log.ts';
import { authorize, authorizeDeleted } from '../../access/access.ts';
import type { Call } from '../../app.ts';
import { currentOf } from '../current.ts';
import { pastOf } from '../past/versions.ts';
import { sendTagged, sendText } from '../sending.ts';
import type { Write } from '../write-steps.ts';

/**
 * Gives the first answer to a write again: the document as it was after it, or before its end. Whether the caller may do such
 * a thing is asked again; nothing else is.
 *
 * @throws DomainError `unauthorized` or `forbidden`; `conflict` where what the document was has been erased.
 */
export async function replay(write: Write, { stream, version }: FirstAnswer): Promise<ResponseObject> {
  const { request, target, present, h, operation, data } = write;
  const [, id] = splitStream(stream);
  const past = await thenOf(write, stream, operation === 'delete' ? version - 1 : version);
  if (!past?.document)
    throw new DomainError('conflict', 'this was done before, but what the answer was has been erased');
  const { document: fields, position } = past;
  const current = operation === 'create' ? null : currentOf(target, id);
  if (operation === 'create' || current)
    await authorize(write, operation, { doc: () => current?.document ?? null, data });
  else await authorizeDeleted(write, operation, { document: fields, position, data });
  const answer = await present.document(request, target.documentOf(id, fields));
  const response = operation === 'delete' ? sendText(h, answer) : sendTagged(h, answer, present.tag(version, answer));
  return response.header('idempotent-replayed', 'true');
}

/** A global that was never written is its defaults, and a write that changed nothing left it so. */
async function thenOf(
  { app, target }: Call,
  stream: string,
  version: number,
): Promise<{ document: JsonObject | null; position: number } | null> {
  if (target.defaults && version === 0) return { document: target.defaults(), position: 0 };
  return pastOf(app, stream, { version });
}
