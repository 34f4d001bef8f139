import { DomainError, inBody } from '../../../config/errors.ts';
import type { Collection } from '../../../config/model.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { splitStream } from '../../../events/facts/catalogue.ts';
import { changesBetween } from '../../../events/facts/changes.ts';
import type { Current } from '../../../events/facts/documents.ts';
import type { Header } from '../../../events/facts/envelope.ts';
import { type Lines, noLines } from '../../../events/facts/lines.ts';
import type { AuditRights } from '../../access/rights.ts';
import type { App, Target } from '../../app.ts';
import { refuseTooMuch } from '../../documents/bulk/loading.ts';
import { pastLinesOf } from '../../documents/past/past-lines.ts';
import { type PastVersion, pastOf } from '../../documents/past/versions.ts';
import { currentOf, lineOf, linesOf } from '../../documents/write/current.ts';
import { yieldToEventLoop } from '../../platform/yield.ts';
import { type LinesStep, linesStepOf } from './lines.ts';

/** The events that a bulk call has recorded in one stream: the versions that they made. */
type ChangeRange = { stream: string; first: number; last: number };

/**
 * The document of a bulk call: how it was before and after it, how it is today, and the version of its stream today.
 */
export type UndoSubject = {
  /** As errors name it: its slug and its id. */
  at: string;
  target: Target<Collection>;
  id: string;
  before: (PastVersion & { document: JsonObject }) | null;
  current: Current | null;
  version: number;
};

/**
 * The step that undoes the change of a document: delete it, restore a version, or write former values; null if later
 * changes have left nothing to undo.
 */
export type UndoStep =
  | { kind: 'delete' }
  | { kind: 'restore'; version: number }
  | { kind: 'update'; values: JsonObject; past: { document: JsonObject; position: number } }
  | LinesStep
  | null;

/** How many documents a refusal names. */
const mostNamed = 20;

/**
 * The documents that a bulk call has changed, in their order, each with the step that undoes it.
 *
 * @param isForced documents may have changed since.
 * @throws DomainError `forbidden`; `too_large`; `conflict` naming the documents that were changed since, or of which
 *   too little is known.
 */
export async function stepsOf(
  app: App,
  headers: readonly Header[],
  { rights, isForced }: { rights: AuditRights; isForced: boolean },
): Promise<{ subject: UndoSubject; step: UndoStep }[]> {
  const steps: { subject: UndoSubject; step: UndoStep }[] = [];
  const moved: string[] = [];
  let characters = 0;
  for (const made of madeBy(headers)) {
    const { stream, last } = made;
    if (rights.toPayloadsOf(stream) === 'none')
      throw new DomainError('forbidden', `you may not see what ${nameOf(app, stream)} was`);
    const version = app.events.versionOf(stream);
    if (version !== last && !isForced) {
      moved.push(`${nameOf(app, stream)} is at version ${version}, the call made ${last}`);
      continue;
    }
    const found = await stepOf(app, made, version);
    characters += JSON.stringify(found.subject.before?.document ?? null).length;
    refuseTooMuch(characters);
    steps.push(found);
    await yieldToEventLoop();
  }
  if (moved.length > 0) throw goneOn(moved);
  return steps;
}

/** A bulk call is about documents: any other event in it has no way back here. */
function madeBy(headers: readonly Header[]): ChangeRange[] {
  const found = new Map<string, ChangeRange>();
  for (const { stream, version, type } of headers) {
    // A request for review ends with what it was about.
    if (type.startsWith('review.')) continue;
    if (!type.startsWith('document.')) throw new DomainError('conflict', `events of the type ${type} cannot be undone`);
    const made = found.get(stream);
    if (made) made.last = version;
    else found.set(stream, { stream, first: version, last: version });
  }
  return [...found.values()];
}

/** A document as callers name it. */
function nameOf({ names }: App, stream: string): string {
  const [category, id] = splitStream(stream);
  return `${names.slugFor(category)}/${id}`;
}

function goneOn(moved: readonly string[]): DomainError {
  const told = moved.slice(0, mostNamed);
  const more = moved.length > told.length ? `; and ${moved.length - told.length} more` : '';
  const errors = told.map((message) => ({ ...inBody(message.split(' ', 1)[0] ?? '', 'changed_since'), message }));
  return new DomainError('conflict', `documents have gone on since: ${told.join('; ')}${more}`, errors);
}

async function stepOf(
  app: App,
  { stream, first, last }: ChangeRange,
  version: number,
): Promise<{ subject: UndoSubject; step: UndoStep }> {
  const [category, id] = splitStream(stream);
  const target = app.byCategory.get(category);
  if (!target) throw new DomainError('conflict', `${stream} is of a collection that is not configured`);
  if (target.lines) return linesOfCall(app, target, { stream, first, last });
  const before = first === 1 ? null : await known(app, stream, first - 1);
  const after = await known(app, stream, last);
  const current = currentOf(target, id);
  const subject = { at: nameOf(app, stream), target, id, before, current, version };
  return { subject, step: wayBack(subject, after?.document ?? null) };
}

/** The step for a document with drafts: both its states are given back. */
async function linesOfCall(
  app: App,
  target: Target<Collection>,
  { stream, first, last }: ChangeRange,
): Promise<{ subject: UndoSubject; step: UndoStep }> {
  const [, id] = splitStream(stream);
  const now = linesOf({ app, target }, id);
  const before = first === 1 ? null : await pastLinesOf(app, stream, { version: first - 1 });
  const after = await pastLinesOf(app, stream, { version: last });
  if (before?.isErased || after?.isErased) throw erased(app, stream);
  const current = lineOf(target, now, 'draft');
  const at = nameOf(app, stream);
  const undone = {
    before: ofToday(target, before ?? noLines),
    after: ofToday(target, after ?? noLines),
    source: { version: first - 1, position: before?.position ?? 0 },
  };
  const past = before?.draft ? { ...before, document: before.draft } : null;
  return { subject: { at, target, id, before: past, current, version: now.head }, step: linesStepOf(now, undone) };
}

/** Both states with the fields of today: nothing else can be written. */
function ofToday({ model }: Target<Collection>, { published, draft }: Pick<Lines, 'published' | 'draft'>) {
  const names = new Set(['id', 'createdAt', 'updatedAt', ...model.fields.map(({ name }) => name)]);
  const only = (state: JsonObject) =>
    Object.fromEntries(Object.entries(state).filter(([name]) => names.has(name))) as JsonObject;
  const shown = published && only(published);
  return { published: shown, draft: draft === published ? shown : draft && only(draft) };
}

function erased(app: App, stream: string): DomainError {
  return new DomainError('erased', `${nameOf(app, stream)} was erased: what it was is not known`);
}

/** A state of a document; null if it did not exist. @throws DomainError `conflict` if it has been erased. */
async function known(app: App, stream: string, version: number): Promise<UndoSubject['before']> {
  const past = await pastOf(app, stream, { version });
  if (past?.isErased) throw erased(app, stream);
  return past?.document ? { ...past, document: past.document } : null;
}

function wayBack({ target, before, current }: UndoSubject, after: JsonObject | null): UndoStep {
  if (!before) return current ? { kind: 'delete' } : null;
  if (!after) return current ? null : { kind: 'restore', version: before.version };
  if (!current) return null;
  const { document, position } = before;
  const fields = new Set(target.model.fields.filter(({ type }) => type !== 'join').map(({ name }) => name));
  const changed = changesBetween(document, after).filter(({ field }) => fields.has(field));
  const values = Object.fromEntries(changed.map(({ field, before }) => [field, before]));
  return { kind: 'update', values, past: { document, position } };
}
