import { DomainError } from '../../../config/errors.ts';
import type { Json, JsonObject } from '../../../config/schema.ts';
import { changesBetween } from '../../../events/facts/changes.ts';
import type { Current } from '../../../events/facts/documents.ts';
import { readableWith } from '../../access/field-access.ts';
import { requestId } from '../../http/requests.ts';
import { maySee } from '../drafts/rights.ts';
import { pastLineOf } from '../past/past-lines.ts';
import { mayReadPast } from '../past/versions.ts';
import { idIn, type Line, streamOf } from '../write/current.ts';
import type { ShownCall, Write, WriteStep } from '../write/write-steps.ts';
import { type ExpectedState, expectedStates } from './etags.ts';

/** A field whose value has changed since the version that the client knows. `before` only if the caller may see it. */
type Difference = { field: string; before?: Json; current: Json };

/** Refuses a change of a version that `If-Match` does not name: a step of writes. */
export function ifMatch(write: Write): WriteStep {
  const isNew = write.operation === 'create';
  return {
    async admitted(current) {
      if (!isNew) await requireExpected(write, current, write.lines?.addressed);
    },
  };
}

/**
 * Compares the `If-Match` of a request with the document: to be called in each try of a write, once the caller is
 * admitted, and before anything is kept for the write.
 *
 * @param current null for a document that does not exist, which no tag can name.
 * @param line the line of a document with drafts that `current` is.
 * @throws DomainError `stale` with the version that there is, and for readers its `etag` and the fields
 * that differ.
 */
export async function requireExpected(call: ShownCall, current: Current | null, line: Line = 'public'): Promise<void> {
  const expected = expectedStates(call.request);
  if (expected === null) return;
  if (current && (expected === '*' || expected.some((one) => isMeant(call, one, { current, line })))) return;
  throw await stale(call, expected, { current, line });
}

type Found = { current: Current | null; line: Line };

/** Whether a tag is of the line as it is now. A tag of the other line is, as long as both are equal. */
function isMeant(
  { target, ...call }: ShownCall,
  { version, isDraft }: ExpectedState,
  { current, line }: { current: Current; line: Line },
): boolean {
  if (version !== current.version) return false;
  if (!target.lines || isDraft === (line === 'draft')) return true;
  const now = target.lines(idIn({ ...call, target }));
  return now.published === now.draft;
}

async function stale(call: ShownCall, expected: '*' | ExpectedState[], { current, line }: Found): Promise<DomainError> {
  const version = current?.version ?? call.app.events.versionOf(streamOf(call.target, idIn(call)));
  const message = current
    ? `the ${line === 'draft' ? 'draft' : 'document'} has changed: it is at version ${version}, which if-match does not name`
    : `the document has been ${goneBy(call)}, so if-match names nothing`;
  const versions = expected === '*' ? [] : expected.map((one) => one.version);
  const known = versions.filter((one) => one > 0 && one < version);
  const shown = current && (await shownOf(call, { current, line }, Math.max(0, ...known)));
  return new DomainError('stale', message, [], null, { version, ...shown });
}

/** A document may be there, and not be public. */
function goneBy({ target, ...call }: ShownCall): 'deleted' | 'unpublished' {
  return target.lines?.(idIn({ ...call, target })).draft ? 'unpublished' : 'deleted';
}

/**
 * The details of a refusal. If a hook refuses to show the document, there are none: the refusal still tells the
 * version.
 */
async function shownOf(
  call: ShownCall,
  { current, line }: { current: Current; line: Line },
  base: number,
): Promise<JsonObject | null> {
  const { app, request, target, present } = call;
  if (!(await maySee(call, line, current.document))) return null;
  try {
    const text = await present.document(request, target.documentOf(idIn(call), current.document));
    const etag = `"${present.tag(current.version, text, { isDraft: line === 'draft' })}"`;
    const fields =
      base > 0 ? await differences(call, { base, line }, { stored: current.document, shown: JSON.parse(text) }) : null;
    return { etag, ...(fields ? { fields } : {}) };
  } catch (err) {
    app.log.warn({ err, requestId: requestId(request) }, 'a 412 could not tell what differs');
    return null;
  }
}

/** @param today the document as it is shown to the caller. */
async function differences(
  call: ShownCall,
  { base, line }: { base: number; line: Line },
  today: { stored: JsonObject; shown: JsonObject },
): Promise<Difference[] | null> {
  const { request, target, present } = call;
  const id = idIn(call);
  const stream = streamOf(target, id);
  const past = await pastLineOf(call, stream, { version: base, line });
  if (!past) return null;
  const { document, position } = past;
  const shown: JsonObject = JSON.parse(await present.document(request, target.documentOf(id, document)));
  const before = target.hasReadRules ? await readableWith(call, shown, [today.stored]) : shown;
  const isShown = await mayReadPast(call, { stream, document, position, isThere: true, line });
  return changesBetween(before, today.shown).map(({ field, before, after }) => {
    return isShown ? { field, before, current: after } : { field, current: after };
  });
}
