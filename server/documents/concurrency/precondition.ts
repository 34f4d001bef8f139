import type { Request } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import type { Json, JsonObject } from '../../../config/schema.ts';
import { changesBetween } from '../../../events/changes.ts';
import type { Current } from '../../../events/documents.ts';
import { readableWith } from '../../access/field-access.ts';
import type { App, Target } from '../../app.ts';
import { requestId } from '../../http/requests.ts';
import type { Presenter } from '../answers.ts';
import { mayRead, mayReadPast, pastOf } from '../past/versions.ts';
import { type Expected, expectedVersions } from './etags.ts';

/** What a write is about. `answerOf` makes an answer of the fields of a version. */
export type Written = {
  app: App;
  request: Request;
  target: Target;
  present: Presenter;
  stream: string;
  answerOf: (fields: JsonObject) => JsonObject;
};

/** A field whose value is another than the client knows. `before` only for who may see what was. */
type Difference = { field: string; before?: Json; current: Json };

/**
 * Holds the `If-Match` of a request against the document: to be asked in each try of a write, once the caller is known to be
 * let in, and before anything is kept for it.
 *
 * @param current null: there is none, which no tag can name.
 * @throws DomainError `precondition-failed` with the version that there is, and for readers its `etag` and the fields that differ.
 */
export async function requireExpected(written: Written, current: Current | null): Promise<void> {
  const expected = expectedVersions(written.request);
  if (expected === null) return;
  if (current && (expected === '*' || expected.has(current.version))) return;
  throw await stale(written, expected, current);
}

async function stale(written: Written, expected: Expected, current: Current | null): Promise<DomainError> {
  const { app, stream } = written;
  const version = current?.version ?? app.events.versionOf(stream);
  const message = current
    ? `the document has changed: it is at version ${version}, which if-match does not name`
    : 'the document has been deleted, so if-match names nothing';
  const known = expected === '*' ? [] : [...expected].filter((one) => one > 0 && one < version);
  const shown = current && (await shownOf(written, current, Math.max(0, ...known)));
  return new DomainError('precondition-failed', message, [], null, { version, ...shown });
}

/** A refusal must not be lost over what it tells: where a hook refuses to show the document, it tells the version only. */
async function shownOf(written: Written, current: Current, base: number): Promise<JsonObject | null> {
  const { app, request, target, present, answerOf } = written;
  if (!(await mayRead(app, request, target, current.document))) return null;
  try {
    const text = await present.document(request, answerOf(current.document));
    const etag = `"${present.tag(current.version, text)}"`;
    const fields = base > 0 ? await differences(written, base, current.document, JSON.parse(text)) : null;
    return { etag, ...(fields ? { fields } : {}) };
  } catch (err) {
    app.log.warn({ err, requestId: requestId(request) }, 'a 412 could not tell what differs');
    return null;
  }
}

/** @param today the document as it is, and `current` what the caller is shown of it. */
async function differences(
  written: Written,
  base: number,
  today: JsonObject,
  current: JsonObject,
): Promise<Difference[] | null> {
  const { app, request, target, present, stream, answerOf } = written;
  const past = await pastOf(app, stream, { version: base });
  if (!past?.document) return null;
  const { document, position } = past;
  const shown: JsonObject = JSON.parse(await present.document(request, answerOf(document)));
  const before = target.hasReadRules ? await readableWith(request, target, shown, [today]) : shown;
  const isShown = await mayReadPast(app, request, target, { stream, document, position, isThere: true });
  return changesBetween(before, current).map(({ field, before, after }) => {
    return isShown ? { field, before, current: after } : { field, current: after };
  });
}
