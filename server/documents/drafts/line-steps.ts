import type { JsonObject } from '../../../config/schema.ts';
import type { Current } from '../../../events/facts/documents.ts';
import {
  decideDraft,
  decideDraftUpdate,
  decideEnd,
  decidePublicCreate,
  decidePublicUpdate,
  type LinesNow,
  noLinesNow,
} from '../../../events/facts/line-decisions.ts';
import { changedNames } from '../../../events/facts/lines.ts';
import type { Change } from '../../../events/facts/log.ts';
import { authorize } from '../../access/access.ts';
import { checkFieldsWritable } from '../../access/field-access.ts';
import { noteReason } from '../../http/reason.ts';
import { actorOf } from '../../http/requests.ts';
import { beforeDelete, beforePublish, type HookContext } from '../hooks.ts';
import { hookedValues, validValues } from '../write/checked-values.ts';
import { lineOf, linesOf } from '../write/current.ts';
import { admitted, type Write } from '../write/write-steps.ts';
import { readsAll } from '../write/written.ts';
import { checkWriteQuery } from './asking.ts';
import { linesAfter } from './outcome.ts';
import { authorizeAnyPublic, authorizeDraft, authorizeNewDraft, authorizePublic, editorsOf } from './rights.ts';
import { isDraftWrite, targetOfLines } from './targets.ts';

/** A document with drafts that a write is about; `current` is the line that is addressed, null without one. */
export type LineSubject = { write: Write; id: string; at: number; now: LinesNow; current: Current | null };

/** A decision on a document, and the document after it. */
export type LineDecision = {
  change: Change | null;
  after: LinesNow;
  hookContext: HookContext;
  /** Whether values were written, so that `afterChange` runs. */
  isEdit: boolean;
  /** Whether the public state changes, so that `afterPublish` runs, and what is public until then. */
  isPublished: boolean;
  published: JsonObject | null;
};

/**
 * A kind of write, step by step. A write of one document takes the steps one after the other, a bulk call takes each
 * for all of its documents.
 */
export type LineSteps = {
  /** Whether the body has values of fields. */
  hasValues: boolean;
  /** Whether the header of a reason is read; default true. */
  takesReason?: boolean;
  /** Whether there is no such document; by default, whether it has no line that is addressed. */
  isMissing?: (subject: LineSubject) => boolean;
  /** Asks the rules that need no values. @throws DomainError `unauthorized` or `forbidden`. */
  admit: (subject: LineSubject) => Promise<void>;
  /** Asks the rules about the document as valid values would make it. @throws DomainError `forbidden`. */
  admitValues?: (subject: LineSubject, given: JsonObject) => Promise<void>;
  /**
   * Decides, after every check. @param isDry no hook runs. @throws DomainError `conflict`, `validation_failed`; what a
   * hook throws.
   */
  decide: (subject: LineSubject, given: JsonObject, isDry: boolean) => Promise<LineDecision>;
};

/** The document that a write is about, as it is now. */
export function subjectOf(write: Write, id: string): LineSubject {
  const { app, target } = write;
  const now = linesOf(write, id);
  const current = lineOf(target, now, isDraftWrite(write) ? 'draft' : 'public');
  return { write, id, at: app.ids.next().at, now, current };
}

/** A document that a write creates. */
export function newSubject(write: Write): LineSubject {
  return { write, ...write.app.ids.next(), now: noLinesNow, current: null };
}

/** Whether there is no document that a write with these steps could be about. */
export function isMissing(subject: LineSubject, steps: LineSteps): boolean {
  return steps.isMissing ? steps.isMissing(subject) : subject.current === null;
}

/** Takes a write of one document through its steps up to the decision. */
export async function decideLine(subject: LineSubject, steps: LineSteps): Promise<LineDecision> {
  const { write, current } = subject;
  await steps.admit(subject);
  await admitted(write, current);
  checkWriteQuery(write);
  if (steps.takesReason !== false) noteReason(write.request, write.target.model);
  const given = steps.hasValues ? await givenValues(subject) : {};
  await steps.admitValues?.(subject, given);
  return steps.decide(subject, given, false);
}

async function givenValues(subject: LineSubject): Promise<JsonObject> {
  const { write, current } = subject;
  const hookContext = contextOf(subject);
  await checkFieldsWritable(write, hookContext.operation, { body: write.body, doc: current?.document ?? null });
  return validValues(hookContext, write.body, validatorOf(write));
}

/** The validator of the line that a write is about. */
export function validatorOf(write: Write) {
  const { draftValidator, validator } = write.target;
  return isDraftWrite(write) ? (draftValidator ?? validator) : validator;
}

/** The arguments of hooks in a write of values. */
export function contextOf({ write, current }: LineSubject): HookContext & { operation: 'create' | 'update' } {
  const { app, request, target, operation } = write;
  const doc = current?.document ?? null;
  return { app, request, target, operation: operation === 'create' ? 'create' : 'update', doc };
}

/** The steps of each way to write values, and of a deletion. */
export function stepsOf({ operation, ...write }: Pick<Write, 'operation' | 'lines'>): LineSteps {
  if (operation === 'create') return creation;
  if (operation === 'delete') return removal;
  return isDraftWrite(write) ? draftUpdate : publicUpdate;
}

const creation: LineSteps = {
  hasValues: true,
  async admit({ write }) {
    const isDraft = isDraftWrite(write);
    await authorize(write, 'create', { doc: () => null, data: write.data, isDraft });
    if (!isDraft) await authorizeAnyPublic(write);
  },
  async admitValues({ write, id }, given) {
    const { app, request, target } = write;
    const document = target.documentOf(id, given);
    if (isDraftWrite(write)) return authorizeNewDraft(write, document);
    await authorizePublic(write, { document, published: null, editors: editorsOf(app, {}, actorOf(request)) });
  },
  async decide(subject, given, isDry) {
    const { write, id, at, now } = subject;
    const isDraft = isDraftWrite(write);
    const hookContext = contextOf(subject);
    const hooked = isDry ? given : await hookedValues(hookContext, given, null, validatorOf(write));
    const values = isDraft ? hooked : { ...hooked, ...(await publishedValues(subject, hooked, isDry)) };
    const actor = actorOf(write.request);
    const decide = isDraft ? decideDraft : decidePublicCreate;
    const change = decide(targetOfLines(write.target), { id, actor, at }, values);
    const after = linesAfter(now, change, actor);
    return { change, after, hookContext, isEdit: true, isPublished: !isDraft, published: null };
  },
};

/** The values that hooks and the option `publishedAt` add to a document that is public from its creation. */
async function publishedValues(subject: LineSubject, hooked: JsonObject, isDry: boolean): Promise<JsonObject> {
  const { target } = subject.write;
  const document = target.documentOf(subject.id, hooked);
  const made = isDry ? {} : await beforePublish(contextOf(subject), { document, published: null });
  const field = target.model.drafts?.publishedAt ?? null;
  const isEmpty = field !== null && ({ ...hooked, ...made }[field] ?? null) === null;
  return isEmpty ? { ...made, [field]: new Date(subject.at).toISOString() } : made;
}

const draftUpdate: LineSteps = {
  hasValues: true,
  async admit({ write, id, current }) {
    const doc = write.target.documentOf(id, current?.document ?? {});
    await authorize(write, 'update', { doc: () => doc, data: write.data, isDraft: true });
    await authorizeDraft(write, doc);
  },
  async decide(subject, given, isDry) {
    const { write, id, at, now } = subject;
    const { request, target } = write;
    const hookContext = contextOf(subject);
    const values = isDry ? given : await hookedValues(hookContext, given, null, validatorOf(write));
    const actor = actorOf(request);
    const defaults = target.defaults?.() ?? null;
    const change = decideDraftUpdate(targetOfLines(target), { id, now, actor, at }, { values, defaults });
    const after = linesAfter(now, change, actor);
    return { change, after, hookContext, isEdit: change !== null, isPublished: false, published: now.published };
  },
};

const publicUpdate: LineSteps = {
  hasValues: true,
  async admit({ write, current }) {
    await authorize(write, 'update', { doc: () => current?.document ?? null, data: write.data });
    await authorizeAnyPublic(write);
  },
  async admitValues({ write, id, current }, given) {
    const { app, request, target } = write;
    const doc = current?.document ?? {};
    // To tell a caller that nothing changes would tell the values.
    const isEdit = changedNames(doc, { ...doc, ...given }).length > 0 || !(await readsAll(write, doc, given));
    const editors = editorsOf(app, {}, isEdit ? actorOf(request) : null);
    const document = target.documentOf(id, { ...doc, ...given });
    await authorizePublic(write, { document, published: target.documentOf(id, doc), editors });
  },
  async decide(subject, given, isDry) {
    const { write, id, at, now, current } = subject;
    const { request, target } = write;
    const doc = current?.document ?? {};
    const hookContext = contextOf(subject);
    const published = target.documentOf(id, doc);
    const hooked = isDry ? given : await hookedValues(hookContext, given);
    const isPublished = changedNames(doc, { ...doc, ...hooked }).length > 0;
    const document = target.documentOf(id, { ...doc, ...hooked });
    const made = isPublished && !isDry ? await beforePublish(hookContext, { document, published }) : {};
    const values = { ...hooked, ...made };
    const actor = actorOf(request);
    const asked = { values, defaults: target.defaults?.() ?? null };
    const decide = (isSame: boolean) =>
      decidePublicUpdate(targetOfLines(target), { id, now, actor, at }, { ...asked, isSame });
    const change = decide(false) ?? ((await readsAll(write, doc, values)) ? null : decide(true));
    const after = linesAfter(now, change, actor);
    return { change, after, hookContext, isEdit: change !== null, isPublished, published };
  },
};

const removal: LineSteps = {
  hasValues: false,
  async admit({ write, now, current }) {
    const isDraft = isDraftWrite(write);
    const doc = current?.document ?? {};
    await authorize(write, 'delete', { doc: () => doc, data: null, isDraft });
    if (isDraft) await authorizeDraft(write, doc);
    if (!now.published) return;
    const becoming = { document: now.draft ?? now.published, published: now.published, editors: [] };
    await authorizePublic(write, becoming, { isDraft });
  },
  async decide({ write, id, at, now, current }, _given, isDry) {
    const { app, request, target } = write;
    const doc = current?.document ?? {};
    const hookContext = { app, request, target, operation: 'delete', doc } as const;
    if (!isDry) await beforeDelete(hookContext, doc);
    const actor = actorOf(request);
    const change = decideEnd(targetOfLines(target), { id, now, actor, at });
    const after = linesAfter(now, change, actor);
    return { change, after, hookContext, isEdit: false, isPublished: false, published: now.published };
  },
};

/** A decision that writes no values. */
export function decidedOf(subject: LineSubject, change: Change | null): LineDecision {
  const { write, now } = subject;
  const after = linesAfter(now, change, actorOf(write.request));
  return {
    change,
    after,
    hookContext: contextOf(subject),
    isEdit: false,
    isPublished: false,
    published: now.published,
  };
}
