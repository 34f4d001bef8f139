import type { ResponseObject } from '@hapi/hapi';
import { DomainError, inBody, invalidField } from '../../../config/errors.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { changedNames } from '../../../events/facts/lines.ts';
import { authorize } from '../../access/access.ts';
import { refuseMissing } from '../../access/document-access.ts';
import { checkFieldsWritable } from '../../access/field-access.ts';
import type { Call } from '../../app.ts';
import { noteReason } from '../../http/reason.ts';
import { actorOf } from '../../http/requests.ts';
import type { HookContext } from '../hooks.ts';
import { pastLinesOf } from '../past/past-lines.ts';
import { hookedValues, validValues } from '../write/checked-values.ts';
import { idIn, lineOf, linesOf, streamOf } from '../write/current.ts';
import { admitted, beforeAppend, recorded, type Write } from '../write/write-steps.ts';
import { write as append } from '../write/writes.ts';
import { readsAll } from '../write/written.ts';
import { answerLine } from './answers.ts';
import { contextOf, type LineSteps } from './line-steps.ts';
import { linesAfter } from './outcome.ts';
import { draftOf, type PinnedLines, type Publication, publicationOf, publicOf } from './publication.ts';
import { authorizeAnyPublishing, authorizePublishing, editorsOf, maySee } from './rights.ts';
import type { WantedPublication } from './wanted.ts';

/**
 * Makes the draft of a document or global public, or the draft of an earlier version.
 *
 * @throws DomainError as writes do; `validation_failed` naming what a public document needs.
 */
export async function publish(write: Write, wanted: WantedPublication): Promise<ResponseObject> {
  const { request, target } = write;
  const id = idIn(write);
  const answer = await append(write, streamOf(target, id), async () => {
    const { publication, hookContext } = await admitPublication(write, wanted);
    const { now } = publication;
    const { change, isSaved } = await publicationOf(write, await withHooks(hookContext, publication), hookContext);
    const also = await beforeAppend(write, { id, change, version: now.head });
    const after = linesAfter(now, change, actorOf(request));
    return {
      decision: change,
      also,
      answer: {
        id,
        after,
        hookContext: change && hookContext,
        isSaved,
        isPublished: after.published !== now.published,
        published: publicOf(target, publication),
      },
    };
  });
  await recorded(write);
  return answerLine(write, answer);
}

/** A publication with its values as hooks leave them; no hook runs for a call without values. */
async function withHooks(hookContext: Admitted['hookContext'], publication: Publication): Promise<Publication> {
  const { values } = publication;
  if (Object.keys(values).length === 0) return publication;
  const { draftValidator, validator } = hookContext.target;
  return { ...publication, values: await hookedValues(hookContext, values, null, draftValidator ?? validator) };
}

/** A publication whose caller is admitted, and what its hooks are told. */
type Admitted = { publication: Publication; hookContext: HookContext & { operation: 'update'; doc: JsonObject } };

/** Admits a caller to a publication: finds what is published, asks the rules about it, and checks the values sent. */
export async function admitPublication(write: Write, wanted: WantedPublication): Promise<Admitted> {
  const { app, request, target } = write;
  const { data } = wanted;
  const id = idIn(write);
  const now = linesOf(write, id);
  const current = lineOf(target, now, 'draft');
  if (!current) return refuseMissing(write, 'publish', id);
  const doc = target.documentOf(id, current.document);
  await authorizeAnyPublishing(write);
  if (data) await authorize(write, 'update', { doc: () => doc, data, isDraft: true });
  const hookContext = { app, request, target, operation: 'update', doc: current.document } as const;
  const source = wanted.version === null ? null : await pinnedLines(write, id, wanted.version);
  const asked = { id, now, source, values: {} };
  if (!data) await admitBecoming(write, asked, null);
  await admitted(write, current);
  noteReason(request, target.model);
  if (!data) return { publication: asked, hookContext };
  await checkFieldsWritable(write, 'update', { body: data, doc: current.document });
  const values = await validValues(hookContext, data, target.draftValidator ?? target.validator);
  const publication = { ...asked, values };
  await admitBecoming(write, publication, data);
  return { publication, hookContext };
}

/** The publication of the newest draft, as bulk calls do it. */
export const publication: LineSteps = {
  hasValues: false,
  async admit({ write, id, now }) {
    await authorizeAnyPublishing(write);
    await admitBecoming(write, { id, now, source: null, values: {} }, null);
  },
  async decide(subject, _given, isDry) {
    const { write, id, now } = subject;
    const publication = { id, now, source: null, values: {} };
    const hookContext = contextOf(subject);
    const { change } = await publicationOf(write, publication, isDry ? null : hookContext);
    const after = linesAfter(now, change, actorOf(write.request));
    const published = publicOf(write.target, publication);
    return { change, after, hookContext, isEdit: false, isPublished: after.published !== now.published, published };
  },
};

/** Asks the rule `publish` about what would become public, and who has changed that. */
async function admitBecoming(write: Write, publication: Publication, data: JsonObject | null): Promise<void> {
  const { app, request, target } = write;
  const { id, now, source, values } = publication;
  const draft = now.draft ?? target.defaults?.() ?? {};
  const isEdit =
    changedNames(draft, { ...draft, ...values }).length > 0 || !(await readsAll(write, draft, values, 'draft'));
  const editors = editorsOf(app, (source?.lines ?? now).editors, isEdit ? actorOf(request) : null);
  const document = target.documentOf(id, draftOf(target, publication) ?? {});
  await authorizePublishing(write, { document, published: publicOf(target, publication), editors }, data);
}

/**
 * The lines at a version.
 *
 * @throws DomainError `validation_failed` for a version without a draft, `erased`; `forbidden` for a caller who may not
 * see that draft.
 */
export async function pinnedLines(call: Call, id: string, version: number): Promise<PinnedLines> {
  const { target } = call;
  const pinned = await linesAtVersion(call, id, version);
  if (!(await maySee(call, 'draft', pinned.lines.draft ?? {}, pinned.position)))
    throw new DomainError('forbidden', `you may not see what this draft of ${target.slug} was`);
  return pinned;
}

/** As {@link pinnedLines}, for callers who are asked about later. */
export async function linesAtVersion(
  { app, target }: Pick<Call, 'app' | 'target'>,
  id: string,
  version: number,
): Promise<PinnedLines> {
  const stream = streamOf(target, id);
  const end = app.events.versionOf(stream);
  if (version > end) {
    const problem = `must be at most ${end}, the newest version, got ${version}`;
    throw invalidField(inBody('version', 'out_of_range', { limit: end }), problem);
  }
  const past = await pastLinesOf(app, stream, { version });
  if (past?.isErased) throw new DomainError('erased', `version ${version} was erased: nothing is left of it`);
  if (!past?.draft)
    throw invalidField(inBody('version', 'out_of_range'), `names version ${version}, at which there was no draft`);
  const { published, draft, position } = past;
  const publicFields = published && target.documentOf(id, published);
  const draftFields = published === draft ? publicFields : target.documentOf(id, draft);
  return { version, position, lines: { ...past, published: publicFields, draft: draftFields } };
}
