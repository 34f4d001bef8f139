import {
  cutField,
  type DomainError,
  type FieldError,
  inBody,
  invalidBody,
  invalidField,
  invalidFields,
} from '../../../config/errors.ts';
import { isObject, memberOf } from '../../../config/schema.ts';
import { didYouMean, show } from '../../../config/suggest.ts';
import type { Target } from '../../app.ts';
import { refuseDryRunIn } from '../../queries/dry-run.ts';
import { draftParameter, dryRunParameter } from '../../queries/query.ts';
import type { ChangeKind } from './kinds.ts';

/** How many documents one call may be about. */
export const mostDocuments = 1000;
/**
 * How many characters the stored documents of a call may have together: the call has all of them in memory, and the
 * writer has them several times.
 */
export const mostCharacters = 16 * 1024 * 1024;

/** New documents; with `upsertBy`, documents that have the same value of this unique field are changed. */
export type CreateRequest = { docs: readonly unknown[]; upsertBy: string | null };

/** Which documents a call is about: those that match, or those with these ids. */
export type BulkSelection = { where: object } | { ids: readonly string[] };

/** A change of documents; only an update has `data`. */
export type ChangeRequest = { selection: BulkSelection; data: unknown };

/** Reads the body of `POST …/bulk`. @throws DomainError `validation_failed` naming what is wrong with it. */
export function readCreate(body: unknown, target: Target): CreateRequest {
  const { docs, upsertBy } = membersOf(body, ['docs', 'upsertBy']);
  if (upsertBy !== undefined && typeof upsertBy !== 'string') {
    throw invalidField(inBody('upsertBy', 'type'), `must be the name of a unique field, got ${show(upsertBy)}`);
  }
  const list = listOf('docs', docs);
  refusePasswords(target, list.entries(), 'docs');
  return { docs: list, upsertBy: upsertBy ?? null };
}

/**
 * Reads the body of `POST …/bulk/update`, `…/bulk/delete` and the calls about drafts.
 *
 * @throws DomainError `validation_failed` naming what is wrong with it.
 */
export function readChange(body: unknown, target: Target, kind: ChangeKind): ChangeRequest {
  const known = ['where', 'ids', ...(kind === 'update' ? ['data'] : [])];
  const { where, ids, data } = membersOf(body, known);
  if (kind === 'update' && !isObject(data)) throw neededField('data', 'a JSON object of fields', data);
  if (isObject(data)) refusePasswords(target, [['data', data]]);
  return { selection: selectionOf(where, ids), data };
}

/** The query of a call; `draft` says which line it is about, where the kind of the call does not. */
export function queryOf({ lines }: Pick<Target, 'lines'>, takesDraft = true) {
  return { ...dryRunParameter, ...(lines && takesDraft ? draftParameter : {}) };
}

/** A member that is true or false; false if it is missing. @throws DomainError `validation_failed`. */
export function flagOf(name: string, value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? false;
  throw invalidField(inBody(name, 'type'), `must be true or false, got ${show(value)}`);
}

/** The members of a body, which may have no others. @throws DomainError `validation_failed`. */
export function membersOf(body: unknown, known: readonly string[]): Record<string, unknown> {
  if (!isObject(body)) throw invalidBody('type', 'the body must be a JSON object');
  refuseDryRunIn(body);
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const allowed = known.map((name) => JSON.stringify(name)).join(', ');
    throw invalidField(
      inBody(cutField(unknown), 'unknown_field'),
      `is not a field${didYouMean(unknown, known)}; allowed: ${allowed}`,
    );
  }
  return Object.fromEntries(known.map((name) => [name, memberOf(body, name)]));
}

function selectionOf(where: unknown, ids: unknown): BulkSelection {
  if ((where === undefined) === (ids === undefined)) {
    const message = 'where or ids, exactly one of them, must say which documents';
    throw invalidFields([{ ...inBody('where', where === undefined ? 'required' : 'contradiction'), message }]);
  }
  if (where !== undefined) {
    if (!isObject(where)) throw invalidField(inBody('where', 'type'), `must be a JSON object, got ${show(where)}`);
    // A variable without a value leaves no trace in JSON, and must not delete a collection.
    if (Object.keys(where).length === 0) {
      throw invalidField(
        inBody('where', 'required'),
        'must hold a condition; {"id":{"exists":true}} is met by every document',
      );
    }
    return { where };
  }
  const list = listOf('ids', ids);
  const errors = [...list.entries()].flatMap(([index, id]): FieldError[] => {
    const field = `ids.${index}`;
    if (typeof id !== 'string' || id === '')
      return [{ ...inBody(field, 'type'), message: `${field} must be an id, got ${show(id)}` }];
    const first = list.indexOf(id);
    return first < index ? [{ ...inBody(field, 'duplicate'), message: `${field} is the same as ids.${first}` }] : [];
  });
  if (errors.length > 0) throw invalidFields(errors.slice(0, 100));
  return { ids: list as string[] };
}

function listOf(name: string, value: unknown): unknown[] {
  if (!Array.isArray(value)) throw neededField(name, 'a list', value);
  if (value.length <= mostDocuments) return value;
  throw invalidField(
    inBody(name, 'max_items', { limit: mostDocuments }),
    `must hold at most ${mostDocuments}, got ${value.length}`,
  );
}

function neededField(name: string, must: string, value: unknown): DomainError {
  if (value === undefined) return invalidField(inBody(name, 'required'), 'is required');
  return invalidField(inBody(name, 'type'), `must be ${must}, got ${show(value)}`);
}

/**
 * Refuses passwords: a call would hash a thousand, and would have to keep something of them to know a repeated call.
 */
function refusePasswords(
  { model }: Target,
  bodies: Iterable<[place: string | number, body: unknown]>,
  list = '',
): void {
  if (model.kind !== 'collection' || !model.auth) return;
  const errors: FieldError[] = [];
  for (const [place, body] of bodies) {
    if (!isObject(body) || memberOf(body, 'password') === undefined) continue;
    const field = `${list === '' ? place : `${list}.${place}`}.password`;
    errors.push({ ...inBody(field, 'misplaced'), message: `${field} may not be set for many at once` });
  }
  if (errors.length > 0) throw invalidFields(errors.slice(0, 100));
}
