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
import { type Expected, expectedVersions } from './etags.ts';

/** A field whose value is another than the client knows. `before` only for a caller who may see what was. */
type Difference = { field: string; before?: Json; current: Json };

/** Refuses a change of another version than `If-Match` names: a step of writes. */
export function ifMatch(write: Write): WriteStep {
  return {
    async admitted(current) {
      if (current) await requireExpected(write, current);
    },
  };
}

/**
 * Holds the `If-Match` of a request against the document: to be asked in each try of a write, once the caller is known
 * to be let in, and before anything is kept for it.
 *
 * @param current null for a document that does not exist, which no tag can name.
 * @throws DomainError `precondition-failed` with the version that there is, and for readers its `etag` and the fields
 * that differ.
 */
export async function requireExpected(call: ShownCall, current: Current | null): Promise<void> {
  const expected = expectedVersions(call.request);
  if (expected === null) return;
  if (current && (expected === '*' || expected.has(current.version))) return;
  throw await stale(call, expected, current);
}

async function stale(call: ShownCall, expected: Expected, current: Current | null): Promise<DomainError> {
  const version = current?.version ?? call.app.events.versionOf(streamOf(call.target, idIn(call)));
  const message = current
    ? `the document has changed: it is at version ${version}, which if-match does not name`
    : 'the document has been deleted, so if-match names nothing';
  const known = expected === '*' ? [] : [...expected].filter((one) => one > 0 && one < version);
  const shown = current && (await shownOf(call, current, Math.max(0, ...known)));
  return new DomainError('precondition-failed', message, [], null, { version, ...shown });
}

/**
 * A refusal must not be lost over what it tells: where a hook refuses to show the document, it tells the version only.
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

/** @param today the document as it is, and as the caller is shown it. */
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
