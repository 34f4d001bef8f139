import { dataFields, type FieldSchema, type Json, type JsonObject } from '../config/schema.ts';
import type { Claim } from './log.ts';

/** A unique field: its scope in the claims table, and the keys that lead to its value. */
export type UniqueField = { scope: string; path: string[] };

/** The unique fields of a collection, those inside objects included. */
export function uniqueFields(slug: string, fields: readonly FieldSchema[], prefix: string[] = []): UniqueField[] {
  return dataFields(fields).flatMap((field) => {
    const path = [...prefix, field.name];
    if (field.type === 'object') return uniqueFields(slug, field.fields ?? [], path);
    return field.unique ? [{ scope: `${slug}.${path.join('.')}`, path }] : [];
  });
}

/** The claims a document holds: one per unique field that has a value. */
export function claimsOf(unique: readonly UniqueField[], values: JsonObject): Claim[] {
  const claims: Claim[] = [];
  for (const { scope, path } of unique) {
    const value = valueAt(values, path);
    if (value !== undefined && value !== null) claims.push({ scope, value: JSON.stringify(value) });
  }
  return claims;
}

function valueAt(values: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = values;
  for (const key of path) {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined;
    value = Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}

/** What a change must claim and release: the values that are new, and those that are gone. */
export function claimChanges(
  before: readonly Claim[],
  after: readonly Claim[],
): { claims: Claim[]; releases: Claim[] } {
  return { claims: without(after, before), releases: without(before, after) };
}

function without(claims: readonly Claim[], others: readonly Claim[]): Claim[] {
  return claims.filter((claim) => !others.some((other) => other.scope === claim.scope && other.value === claim.value));
}
