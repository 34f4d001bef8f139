import { DomainError } from '../../../config/errors.ts';
import type { Json, JsonObject } from '../../../config/schema.ts';
import { changesBetween } from '../../../events/facts/changes.ts';
import type { Current } from '../../../events/facts/documents.ts';
import { mayRead } from '../../access/access.ts';
import { readableWith } from '../../access/field-access.ts';
import { requestId } from '../../http/requests.ts';
import { mayReadPast, pastOf } from '../past/versions.ts';
import { idIn, streamOf } from '../write/current.ts';
import type { ShownCall, Write, WriteStep } from '../write/write-steps.ts';
import { type ExpectedVersions, expectedVersions } from './etags.ts';

/** A field whose value has changed since the version that the client knows. `before` only if the caller may see it. */
type Difference = { field: string; before?: Json; current: Json };

/** Refuses a change of a version that `If-Match` does not name: a step of writes. */
export function ifMatch(write: Write): WriteStep {
  return {
    async admitted(current) {
      if (current) await requireExpected(write, current);
    },
  };
}

/**
 * Compares the `If-Match` of a request with the document: to be called in each try of a write, once the caller is
 * admitted, and before anything is kept for the write.
 *
 * @param current null for a document that does not exist, which no tag can name.
 * @throws DomainError `stale` with the version that there is, and for readers its `etag` and the fields
 * that differ.
 */
export async function requireExpected(call: ShownCall, current: Current | null): Promise<void> {
  const expected = expectedVersions(call.request);
  if (expected === null) return;
  if (current && (expected === '*' || expected.has(current.version))) return;
  throw await stale(call, expected, current);
}

async function stale(call: ShownCall, expected: ExpectedVersions, current: Current | null): Promise<DomainError> {
  const version = current?.version ?? call.app.events.versionOf(streamOf(call.target, idIn(call)));
  const message = current
    ? `the document has changed: it is at version ${version}, which if-match does not name`
    : 'the document has been deleted, so if-match names nothing';
  const known = expected === '*' ? [] : [...expected].filter((one) => one > 0 && one < version);
  const shown = current && (await shownOf(call, current, Math.max(0, ...known)));
  return new DomainError('stale', message, [], null, { version, ...shown });
}

/**
 * The details of a refusal. If a hook refuses to show the document, there are none: the refusal still tells the
 * version.
 */
async function shownOf(call: ShownCall, current: Current, base: number): Promise<JsonObject | null> {
  const { app, request, target, present } = call;
  if (!(await mayRead(call, current.document))) return null;
  try {
    const text = await present.document(request, target.documentOf(idIn(call), current.document));
    const etag = `"${present.tag(current.version, text)}"`;
    const fields =
      base > 0 ? await differences(call, base, { stored: current.document, shown: JSON.parse(text) }) : null;
    return { etag, ...(fields ? { fields } : {}) };
  } catch (err) {
    app.log.warn({ err, requestId: requestId(request) }, 'a 412 could not tell what differs');
    return null;
  }
}

/** @param today the document as it is shown to the caller. */
async function differences(
  call: ShownCall,
  base: number,
  today: { stored: JsonObject; shown: JsonObject },
): Promise<Difference[] | null> {
  const { app, request, target, present } = call;
  const id = idIn(call);
  const stream = streamOf(target, id);
  const past = await pastOf(app, stream, { version: base });
  if (!past?.document) return null;
  const { document, position } = past;
  const shown: JsonObject = JSON.parse(await present.document(request, target.documentOf(id, document)));
  const before = target.hasReadRules ? await readableWith(call, shown, [today.stored]) : shown;
  const isShown = await mayReadPast(call, { stream, document, position, isThere: true });
  return changesBetween(before, today.shown).map(({ field, before, after }) => {
    return isShown ? { field, before, current: after } : { field, current: after };
  });
}
