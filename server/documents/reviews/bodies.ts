import { cutField, type FieldError, inBody, invalidBody, invalidField, invalidFields } from '../../../config/errors.ts';
import type { Collection, Global } from '../../../config/model.ts';
import { isObject, memberOf } from '../../../config/schema.ts';
import { didYouMean, show } from '../../../config/suggest.ts';
import type { App } from '../../app.ts';

const mostCharacters = 2000;
const mostPeople = 20;

/** A request for review: the users who are asked, as events name them, and the note. */
export type WantedReview = { to: readonly string[]; note: string | null };

/**
 * Reads the body of a request for review, which may be empty.
 *
 * @throws DomainError `validation_failed` naming each user that does not exist, and a note that is needed.
 */
export function readRequest(app: App, model: Collection | Global, body: unknown): WantedReview {
  const { to, note } = membersIn(body, ['to', 'note']);
  const isNeeded = model.kind === 'collection' && model.requiresReason;
  return { to: peopleIn(app, to), note: noteIn(note, isNeeded) };
}

/** Reads the body of a refusal: its note. @throws DomainError `validation_failed`. */
export function readRefusal(body: unknown): string | null {
  const { note } = membersIn(body, ['note']);
  return noteIn(note, true);
}

function membersIn(body: unknown, known: readonly string[]): Record<string, unknown> {
  if (body === null || body === undefined) return {};
  if (!isObject(body)) throw invalidBody('type', 'the body must be a JSON object');
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw invalidField(inBody(cutField(unknown), 'unknown_field'), `is not a field${didYouMean(unknown, known)}`);
  return Object.fromEntries(known.map((name) => [name, memberOf(body, name)]));
}

function peopleIn(app: App, to: unknown): string[] {
  if (to === undefined || to === null) return [];
  const { adminCollection } = app.model;
  const target = adminCollection === null ? undefined : app.collections.get(adminCollection);
  if (!Array.isArray(to)) throw invalidField(inBody('to', 'type'), `must be a list of ids of users, got ${show(to)}`);
  if (to.length > mostPeople) {
    const problem = `must hold at most ${mostPeople}, got ${to.length}`;
    throw invalidField(inBody('to', 'max_items', { limit: mostPeople }), problem);
  }
  const errors = to.flatMap((id, index): FieldError[] => {
    const field = `to.${index}`;
    const first = to.indexOf(id);
    if (first < index) return [{ ...inBody(field, 'duplicate'), message: `${field} is the same as to.${first}` }];
    if (typeof id === 'string' && target && app.userOf(target.slug, id)) return [];
    const where = target ? `a user of ${target.slug}` : 'a user, and no collection has users';
    return [
      { ...inBody(field, 'reference_not_found'), message: `${field} must be the id of ${where}, got ${show(id)}` },
    ];
  });
  if (errors.length > 0) throw invalidFields(errors);
  return to.map((id) => `${target?.category}/${id}`);
}

function noteIn(note: unknown, isNeeded: boolean): string | null {
  if (note !== undefined && note !== null && typeof note !== 'string')
    throw invalidField(inBody('note', 'type'), `must be a text, got ${show(note)}`);
  const text = note?.trim() ?? '';
  if (text === '' && isNeeded) throw invalidField(inBody('note', 'required'), 'is required');
  const characters = [...text].length;
  if (characters > mostCharacters) {
    const problem = `must be at most ${mostCharacters} characters, got ${characters}`;
    throw invalidField(inBody('note', 'max_length', { limit: mostCharacters }), problem);
  }
  if (!text.isWellFormed() || /[^\P{Cc}\n\r\t]/u.test(text))
    throw invalidField(inBody('note', 'unsafe_characters'), 'must have no control characters but line breaks and tabs');
  return text === '' ? null : text;
}
