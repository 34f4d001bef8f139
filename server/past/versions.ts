import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { JsonObject } from '../../config/schema.ts';
import { foldDocument } from '../../events/documents.ts';
import { schemaKey } from '../../events/upcasters.ts';
import { authorize, readsPast } from '../access.ts';
import type { App, Target } from '../app.ts';
import { auditRightsOf } from '../audit/rights.ts';

/**
 * What a stream had come to at one of its versions: its fields, in today's names; null when it was deleted then. `isErased`: what
 * it held then is known no longer.
 */
export type Past = { version: number; position: number; document: JsonObject | null; isErased: boolean };

/** Folds a stream up to a version, or up to a position of the log; null when there was nothing of it yet. */
export function pastOf(app: App, stream: string, end: { version: number } | { position: number }): Past | null {
  const key = schemaKey(stream);
  const upcaster = app.upcaster();
  let past = null as Past | null;
  for (const { header, data } of app.events.stream(stream)) {
    const { version, position, type } = header;
    if ('version' in end ? version > end.version : position > end.position) break;
    const isGone = type === 'document.deleted' || type === 'document.erased';
    const isWhole = type === 'document.created' || type.endsWith('.restored');
    const isErased =
      type === 'document.erased' || (!isGone && (data === null || (past?.isErased === true && !isWhole)));
    const before = past?.document ?? null;
    const document =
      isGone || isErased || data === null ? null : foldDocument(before, type, upcaster.upcast(key, header, data));
    past = { version, position, document, isErased };
  }
  return past && 'version' in end && past.version < end.version ? null : past;
}

/**
 * Whether the caller may see what a document was: by the audit rule, or because its history is public; and by the rule for reading,
 * with the document as it was.
 *
 * @param isThere whether there is a document today: the history of one that is gone is never public.
 */
export async function mayReadPast(
  app: App,
  request: Request,
  target: Target,
  { stream, isThere, ...then }: { stream: string; document: JsonObject; position: number; isThere: boolean },
): Promise<boolean> {
  const { model } = target;
  const isPublic = isThere && model.kind === 'collection' && model.hasPublicHistory;
  if (!isPublic && !(await auditRightsOf(app, request)).seesPayloadsOf(stream)) return false;
  return readsPast(app, request, target, then);
}

/** Whether the rule for reading lets the caller see a document. */
export async function mayRead(app: App, request: Request, target: Target, document: JsonObject): Promise<boolean> {
  try {
    await authorize(app, request, target, 'read', { doc: () => document, data: null });
    return true;
  } catch (error) {
    if (error instanceof DomainError) return false;
    throw error;
  }
}
