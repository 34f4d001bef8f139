import { fieldsOfObject } from '../../config/nesting.ts';
import {
  type Category,
  dataFields,
  type FieldSchema,
  isObject,
  type Json,
  type JsonObject,
  memberOf,
} from '../../config/schema.ts';
import { readTime } from '../../config/times.ts';
import type { Change, Claim } from './log.ts';

/**
 * A unique field: its scope in the claims table, the keys that lead to its value, and whether the value is a time of
 * day.
 */
export type UniqueField = { scope: string; path: string[]; isTime: boolean };

/** The unique fields of a collection, including fields inside objects. */
export function uniqueFields(category: Category, fields: readonly FieldSchema[], prefix: string[] = []): UniqueField[] {
  return dataFields(fields).flatMap((field) => {
    const path = [...prefix, field.name];
    const inside = fieldsOfObject(field);
    if (inside) return uniqueFields(category, inside, path);
    return field.unique ? [{ scope: `${category}.${path.join('.')}`, path, isTime: field.type === 'time' }] : [];
  });
}

/** The same fields, with the scopes in which their values are held among drafts. */
export function amongDrafts(unique: readonly UniqueField[]): UniqueField[] {
  return unique.map((field) => ({ ...field, scope: `${field.scope}${draftMark}` }));
}

/** The end of a scope of drafts. A field cannot have such a name. */
const draftMark = '#draft';

/** The path of the field of a scope, and whether its values are held among drafts. */
export function partsOfScope(scope: string): { path: string; isOfDrafts: boolean } {
  const isOfDrafts = scope.endsWith(draftMark);
  const end = isOfDrafts ? -draftMark.length : undefined;
  return { path: scope.slice(scope.indexOf('.') + 1, end), isOfDrafts };
}

/** The claims a document holds: one per unique field that has a value. */
export function claimsOf(unique: readonly UniqueField[], values: JsonObject): Claim[] {
  return unique.flatMap((field) => {
    const value = valueAt(values, field.path) ?? null;
    return value === null ? [] : [claimOf(field, value)];
  });
}

/** The claim of one value. A time with `:00` seconds was once another value than the same time without seconds. */
export function claimOf({ scope, isTime }: UniqueField, value: Json): Claim {
  const time = isTime && typeof value === 'string' ? readTime(value) : undefined;
  if (time === undefined) return { scope, value: JSON.stringify(value) };
  const former = time.length === 'HH:MM'.length ? { former: JSON.stringify(`${time}:00`) } : {};
  return { scope, value: JSON.stringify(time), ...former };
}

function valueAt(values: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = values;
  for (const key of path) {
    value = isObject(value) ? memberOf(value, key) : undefined;
  }
  return value;
}

/** The values that a change must claim and release: the new values, and the values that are gone. */
export function claimChanges(
  before: readonly Claim[],
  after: readonly Claim[],
): { claims: Claim[]; releases: Claim[] } {
  return { claims: without(after, before), releases: without(before, after) };
}

/**
 * Makes the check whether a value is free for the changes of one command: either no stream holds it, or the one that
 * holds it gives it up in one of them.
 *
 * @param holderOf the stream that holds a value before the command; null if none does.
 */
export function freeAmong(
  changes: readonly Pick<Change, 'stream' | 'releases'>[],
  holderOf: (scope: string, value: string) => string | null,
): (scope: string, value: string) => boolean {
  // Most values are free, so most commands never need it.
  let given: Set<string> | null = null;
  return (scope, value) => {
    const holder = holderOf(scope, value);
    if (holder === null) return true;
    given ??= new Set(changes.flatMap(textsGivenUp));
    return given.has(heldText(scope, value, holder));
  };
}

/** A stream holds the value of a claim under one of its two texts. */
function textsGivenUp({ stream, releases }: Pick<Change, 'stream' | 'releases'>): string[] {
  return releases.flatMap(({ scope, value, former }) =>
    former === undefined
      ? [heldText(scope, value, stream)]
      : [heldText(scope, value, stream), heldText(scope, former, stream)],
  );
}

function heldText(scope: string, value: string, stream: string): string {
  return `${scope}\n${value}\n${stream}`;
}

function without(claims: readonly Claim[], others: readonly Claim[]): Claim[] {
  return claims.filter((claim) => !others.some((other) => other.scope === claim.scope && other.value === claim.value));
}
