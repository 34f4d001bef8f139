import { type Header, headerOf } from '../../../events/facts/envelope.ts';
import type { RouteCall } from '../../app.ts';
import { paceOf } from '../../documents/read/reading.ts';

/** The most headers, and the most payloads, that a search for an undoing looks at. */
const mostHeaders = 10_000;
const mostPayloads = 100;

/** The events by which an undoing changes a document back, by the event of the call. */
const wayBack: { readonly [type: string]: readonly string[] } = {
  'document.created': ['document.deleted'],
  'document.updated': ['document.updated', 'document.draft.updated'],
  'document.deleted': ['document.restored', 'document.draft.restored'],
  'document.restored': ['document.deleted', 'document.updated', 'document.draft.updated'],
  'document.draft.created': ['document.deleted'],
  'document.draft.updated': ['document.draft.updated'],
  'document.draft.restored': ['document.draft.updated', 'document.deleted'],
  'document.draft.discarded': ['document.draft.updated'],
  'document.published': ['document.unpublished', 'document.updated'],
  'document.unpublished': ['document.published'],
};

/**
 * The first bulk call that has undone a bulk call; null if none has. An undoing changes each document right after the
 * call, so the next version of its documents names it. One that was forced may come after many versions: it is not
 * found after more than {@link mostHeaders} of them.
 *
 * @param headers the events of the bulk call.
 * @throws DomainError `unavailable` if the search takes too long.
 */
export async function undoingOf(call: RouteCall, batch: string, headers: readonly Header[]): Promise<string | null> {
  const { events: log } = call.app;
  const pace = paceOf(call);
  const upTo = log.head().size;
  const others = new Set<string>([batch]);
  let left = mostHeaders;
  let payloads = mostPayloads;

  function undoes({ batch: other, type, position }: Header, made: Header): boolean {
    if (other === undefined || others.has(other) || !wayBack[made.type]?.includes(type) || payloads === 0) return false;
    payloads -= 1;
    const context = log.range(position - 1, position)[0]?.context;
    // The payload of this document may be erased, and not that of another.
    if (context) others.add(other);
    return context?.undoes === batch;
  }

  for (const most of [1, mostHeaders]) {
    for (const made of headers) {
      if (left <= 0) return null;
      const positions = log.positionsWithin(made.stream, { after: made.position, upTo, limit: Math.min(most, left) });
      left -= positions.length;
      for (const position of positions) {
        await pace();
        const [text] = log.headers(position - 1, position);
        const header = text === undefined ? null : headerOf(text);
        if (header && undoes(header, made)) return header.batch ?? null;
      }
      await pace();
    }
  }
  return null;
}
