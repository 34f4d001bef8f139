import { isDeepStrictEqual } from 'node:util';
import { type Category, isObject, type Json, type JsonObject } from '../../config/schema.ts';
import { documentStream, globalStream, isDraftOnly, isPublication } from './catalogue.ts';
import { claimChanges, claimsOf, type UniqueField } from './claims.ts';
import { type Change, changeOf } from './log.ts';

/** A document as the log knows it: its stream's version, and its fields with `createdAt` and `updatedAt` (ISO 8601). */
export type Current = { version: number; document: JsonObject };

type Target = { category: Category; unique: readonly UniqueField[] };

/** A new document. `at` is milliseconds since the epoch; `values` are its fields, defaults and hooks applied. */
export function decideCreate(target: Target, id: string, { at, values }: { at: number; values: JsonObject }): Change {
  const time = new Date(at).toISOString();
  return {
    stream: documentStream(target.category, id),
    expectedVersion: 0,
    events: [{ type: 'document.created', data: { id, createdAt: time, updatedAt: time, ...values } }],
    claims: claimsOf(target.unique, values),
    releases: [],
  };
}

/** New values of some top-level fields. `isSame`: record unchanged values too. */
type UpdateInput = { values: JsonObject; at: number; isSame?: boolean };

/** A change of some top-level fields; null if it changes nothing, for then nothing is recorded. */
export function decideUpdate(
  target: Target,
  id: string,
  { current, values, at, isSame = false }: UpdateInput & { current: Current },
): Change | null {
  const changed = isSame ? values : changedFields(current.document, values);
  if (Object.keys(changed).length === 0) return null;
  const after = { ...current.document, ...changed };
  return {
    stream: documentStream(target.category, id),
    expectedVersion: current.version,
    events: [{ type: 'document.updated', data: { set: { ...changed, updatedAt: nextTime(current, at) } } }],
    ...claimChanges(claimsOf(target.unique, current.document), claimsOf(target.unique, after)),
  };
}

/** The end of a document, which gives up its unique values. */
export function decideDelete(target: Target, id: string, current: Current): Change {
  return {
    stream: documentStream(target.category, id),
    expectedVersion: current.version,
    events: [{ type: 'document.deleted', data: {} }],
    claims: [],
    releases: claimsOf(target.unique, current.document),
  };
}

/**
 * A change of a global. The first change records every field, with the defaults, so that later changes of the
 * configured defaults do not change what readers saw.
 *
 * @param current the version and fields of the global; version 0 and the defaults if it was never written.
 */
export function decideGlobalUpdate(
  slug: string,
  current: Current,
  { values, at, isSame = false }: UpdateInput,
): Change | null {
  const isFirst = current.version === 0;
  const given = isSame ? values : changedFields(current.document, values);
  const changed = isFirst ? { ...current.document, ...values } : given;
  if (Object.keys(isFirst ? values : changed).length === 0) return null;
  const updatedAt = nextTime(current, at);
  const set = isFirst ? { ...changed, createdAt: updatedAt, updatedAt } : { ...changed, updatedAt };
  return changeOf(globalStream(slug), [{ type: 'global.updated', data: { set } }], current.version);
}

/** The version of a stream that is restored, and the position of its event. */
type RestoreSource = { version: number; position: number };

type RestoreInput = {
  source: RestoreSource;
  /** The version and fields of the document; null if it is gone. */
  current: Current | null;
  /** The version of the stream, and the newest time at which the document says it was changed. */
  end: Current;
  /** The fields that the document gets, `createdAt` among them. */
  document: JsonObject;
  at: number;
  /** Record it even if nothing changes. */
  isSame?: boolean;
};

/** A document or global as it was. Null if it is so already, for then nothing is recorded. */
export function decideRestore(
  target: Target & { isGlobal: boolean },
  id: string,
  { source, current, end, document, at, isSame = false }: RestoreInput,
): Change | null {
  if (current && !isSame && Object.keys(changedFields(current.document, document)).length === 0) return null;
  const { createdAt = null, ...values } = document;
  const times = { createdAt, updatedAt: nextTime(end, at) };
  const restored = target.isGlobal ? { ...times, ...values } : { id, ...times, ...values };
  return {
    stream: documentStream(target.category, id),
    expectedVersion: end.version,
    events: [{ type: target.isGlobal ? 'global.restored' : 'document.restored', data: { source, document: restored } }],
    ...claimChanges(current ? claimsOf(target.unique, current.document) : [], claimsOf(target.unique, document)),
  };
}

function changedFields(document: JsonObject, values: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => !isDeepStrictEqual(value, document[name] ?? null)),
  );
}

/** `updatedAt` strictly increases per document, whatever the clock does. */
function nextTime({ document }: Current, at: number): string {
  const last = typeof document.updatedAt === 'string' ? Date.parse(document.updatedAt) : 0;
  return new Date(Math.max(at, last + 1)).toISOString();
}

/**
 * Applies an event's `data` to the public state of a document: the fields after the event, or null if there is no such
 * state. Pure, and total over all events ever recorded. Events of drafts change nothing here.
 */
export function foldDocument(before: JsonObject | null, type: string, data: JsonObject): JsonObject | null {
  if (isDraftOnly(type)) return before;
  if (type === 'document.created') return data;
  if (type === 'document.deleted' || type === 'document.erased' || type === 'document.unpublished') return null;
  if (type === 'document.restored' || type === 'global.restored') return objectOf(data.document);
  if (isPublication(type) && isObject(data.document)) return data.document;
  const after: JsonObject = { ...before, ...objectOf(data.set) };
  for (const name of Array.isArray(data.unset) ? data.unset : []) delete after[String(name)];
  return after;
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
