import type { JsonObject } from '../../../config/schema.ts';
import { decidePublish, type LinesNow } from '../../../events/facts/line-decisions.ts';
import { changedNames, type Lines } from '../../../events/facts/lines.ts';
import type { Change } from '../../../events/facts/log.ts';
import type { Call, Target } from '../../app.ts';
import { actorOf } from '../../http/requests.ts';
import { beforePublish, type HookContext } from '../hooks.ts';
import { fieldsIn, pastValues } from '../past/restore-plan.ts';
import { targetOfLines } from './targets.ts';

/** A draft that is to become public. */
export type Publication = {
  id: string;
  now: LinesNow;
  /** The lines at the version that is published, if that is not the newest. */
  source: PinnedLines | null;
  /** Values that are saved in the draft first; `{}` for none. */
  values: JsonObject;
  /** The id of the release that publishes it. */
  release?: string;
};

/** The lines of a document at one of its versions, in the shape of today. */
export type PinnedLines = { version: number; position: number; lines: Lines };

/** A publication as it was decided: null if it changes nothing. */
type PublishDecision = { change: Change | null; isSaved: boolean };

/** The draft that a publication publishes, as a whole; null without one. */
export function draftOf({ defaults }: Target, { now, source, values }: Publication): JsonObject | null {
  const draft = (source?.lines ?? now).draft ?? defaults?.() ?? null;
  return draft && { ...draft, ...values };
}

/** The public document, as rules and hooks see it; null if nothing is public. */
export function publicOf({ defaults, documentOf }: Target, { id, now }: Pick<Publication, 'id' | 'now'>) {
  const published = now.published ?? defaults?.() ?? null;
  return published && documentOf(id, published);
}

/** The document as a publication makes it public. `names` are the fields that it publishes. */
export function outcomeOf(target: Target, publication: Publication) {
  const { now, source } = publication;
  const draft = draftOf(target, publication) ?? {};
  const names = changedNames((source?.lines ?? now).published, draft);
  const document: JsonObject = now.published ? { ...now.published } : { ...draft };
  for (const name of names) document[name] = draft[name] ?? null;
  const isChange = now.published === null || changedNames(now.published, document).length > 0;
  return { document, names, isChange };
}

/** The time of the first publication, in the field that has it: empty if it has a value, or there is no such field. */
export function firstTime(target: Target, publication: Publication, at: number): JsonObject {
  const field = target.model.drafts?.publishedAt ?? null;
  const isFirst = publication.now.published === null;
  const isEmpty = field !== null && isFirst && (draftOf(target, publication)?.[field] ?? null) === null;
  return isEmpty ? { [field]: new Date(at).toISOString() } : {};
}

/**
 * Decides on a publication whose caller is admitted: runs its hooks, and asks everything that a public document needs.
 *
 * @param hookContext null: no hook runs.
 * @throws DomainError `validation_failed` naming each field that is wrong; what a hook throws.
 */
export async function publicationOf(
  call: Call,
  publication: Publication,
  hookContext: HookContext | null,
): Promise<PublishDecision> {
  const { app, request, target } = call;
  const { id, now, source, values } = publication;
  const { at } = app.ids.next();
  const { isChange } = outcomeOf(target, publication);
  const draft = draftOf(target, publication);
  const isEdit = changedNames(now.draft, { ...now.draft, ...values }).length > 0;
  const hasDraft = (source?.lines ?? now).draft !== null;
  if (!draft || !(isEdit || (hasDraft && isChange))) return { change: null, isSaved: false };
  const document = target.documentOf(id, draft);
  const published = publicOf(target, publication);
  const made = isChange && hookContext ? await beforePublish(hookContext, { document, published }) : {};
  const hooked = { ...publication, values: { ...values, ...made } };
  const time = isChange ? firstTime(target, hooked, at) : {};
  await validPublication(call, outcomeOf(target, { ...hooked, values: { ...hooked.values, ...time } }).document);
  const subject = { id, now, actor: actorOf(request), at };
  const lines = source && { ...source.lines, draft: { ...source.lines.draft, ...made, ...time } };
  const change = decidePublish(targetOfLines(target), subject, {
    // The newest draft gets the time too: else the next publication would take it away.
    values: source ? time : { ...hooked.values, ...time },
    ...(source && lines ? { source: { version: source.version, lines } } : {}),
    defaults: target.defaults?.() ?? null,
    ...(publication.release !== undefined && { release: publication.release }),
  });
  return { change, isSaved: isEdit };
}

/** Asks everything that a public document needs. @throws DomainError `validation_failed` naming each wrong field. */
export async function validPublication(call: Call, document: JsonObject): Promise<void> {
  const { fields } = call.target.model;
  const values = fieldsIn(call.target, document);
  // A missing value is told as one, unless a default would take its place.
  for (const { name, makeDefault } of fields) if (values[name] === null && !makeDefault) delete values[name];
  await pastValues(call, 'create', values);
}
