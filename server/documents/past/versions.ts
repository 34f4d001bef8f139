import type { JsonObject } from '../../../config/schema.ts';
import { foldDocument } from '../../../events/facts/documents.ts';
import type { RecordedEvent } from '../../../events/facts/log.ts';
import { schemaKey } from '../../../events/facts/upcasters.ts';
import { eventOf } from '../../../events/log/log-reader.ts';
import { auditRightsOf } from '../../access/rights.ts';
import type { App, Call } from '../../app.ts';
import { maySee } from '../drafts/rights.ts';
import type { Line } from '../write/current.ts';
import { eventsOf } from './reading.ts';

/**
 * The state of a stream at one of its versions: its fields, in today's names; null if the document was deleted.
 * `isErased`: the content is no longer known.
 */
export type PastVersion = { version: number; position: number; document: JsonObject | null; isErased: boolean };

/**
 * Folds a stream up to a version, or up to a position of the log; null if the stream had no event yet. Piece by piece:
 * writers may make a stream of any length and size.
 */
export async function pastOf(
  app: App,
  stream: string,
  end: { version: number } | { position: number },
): Promise<PastVersion | null> {
  const key = schemaKey(stream);
  const upcaster = app.upcaster();
  const upTo = 'position' in end ? end.position : app.events.head().size;
  const last = 'version' in end ? end.version : Number.MAX_SAFE_INTEGER;
  let past = null as PastVersion | null;
  for await (const chunk of eventsOf(app.events, stream, upTo)) {
    for (const text of chunk) {
      const event = eventOf(text);
      if (event.header.version <= last) past = next(past, event);
    }
    if (past && past.version >= last) break;
  }
  return past && 'version' in end && past.version < end.version ? null : past;

  function next(past: PastVersion | null, { header, data }: RecordedEvent): PastVersion {
    const { version, position, type } = header;
    const isGone = type === 'document.deleted' || type === 'document.erased';
    const isWhole = type === 'document.created' || type.endsWith('.restored');
    const isErased =
      type === 'document.erased' || (!isGone && (data === null || (past?.isErased === true && !isWhole)));
    const before = past?.document ?? null;
    const document =
      isGone || isErased || data === null ? null : foldDocument(before, type, upcaster.upcast(key, header, data));
    return { version, position, document, isErased };
  }
}

/** An earlier state of a stream: its content, and the position at which it was so. */
type PastState = { stream: string; document: JsonObject; position: number; isThere: boolean; line?: Line };

/**
 * Whether the caller may see an earlier state: by the audit rule, or since the history is public; and by the read rule,
 * which is asked about this state.
 *
 * @param line the line of a document with drafts that the state is of: drafts are never a public history.
 * @param isThere whether the document exists today: the history of a deleted document is never public.
 */
export async function mayReadPast(
  call: Call,
  { stream, isThere, line = 'public', ...then }: PastState,
): Promise<boolean> {
  const { app, request, target } = call;
  const { model } = target;
  const isPublic = isThere && line === 'public' && model.kind === 'collection' && model.hasPublicHistory;
  if (!isPublic && (await auditRightsOf(app, request)).toPayloadsOf(stream) === 'none') return false;
  return maySee(call, line, then.document, then.position);
}
