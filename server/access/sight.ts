import { isDeepStrictEqual } from 'node:util';
import { DomainError } from '../../config/errors.ts';
import type { Field } from '../../config/model.ts';
import { fieldsInside, mapObjects, slugOf, tagOf } from '../../config/nesting.ts';
import { type Category, globalsCategory, isObject, type Json, type JsonObject } from '../../config/schema.ts';
import { show } from '../../config/suggest.ts';
import {
  apiKeyStream,
  isCreation,
  isDraftOnly,
  releaseIdOf,
  splitAccountStream,
  splitStream,
} from '../../events/facts/catalogue.ts';
import type { Header } from '../../events/facts/envelope.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { schemaKey, type Upcaster } from '../../events/facts/upcasters.ts';
import type { Call, RouteCall } from '../app.ts';
import { whenReadable } from '../queries/moments.ts';
import { mayRead } from './access.ts';
import { mayReadDrafts } from './draft-access.ts';
import { recordedFields } from './field-access.ts';
import { managesKeys } from './key-management.ts';
import { mayUseReleases } from './release-rights.ts';

/**
 * An event as the caller sees it, without its payload if that is erased or hidden from this caller. `isPartial`: some
 * of what was recorded is left out. `isWithheld`: all of it is. `isOfToday`: the fields have the names of today, else
 * those of the event.
 */
export type SeenEvent = RecordedEvent & { isPartial?: true; isWithheld?: true; isOfToday?: true };

/**
 * The part of the payloads of one stream that a caller sees: all of it as recorded, some fields, or nothing. Every
 * route that shows recorded events passes each event through `seen`.
 */
export type Sight = {
  extent: 'all' | 'some' | 'none';
  /** Whether every field that is configured today is shown, and what is not public too. */
  isWhole: boolean;
  /** Whether what was never public is shown: drafts, and what was said about them. */
  hasDrafts: boolean;
  seen: (event: RecordedEvent) => SeenEvent;
  /** Whether a field is shown, by its name of today; a field that is no longer configured only if all is shown. */
  shows: (field: string) => boolean;
};

/** The sight of a caller to whom payloads are granted. */
export const seesAll: Sight = {
  extent: 'all',
  isWhole: true,
  hasDrafts: true,
  seen: (event) => event,
  shows: () => true,
};

/** The sight of a caller who sees no payload. */
export const seesNothing: Sight = {
  extent: 'none',
  isWhole: false,
  hasDrafts: false,
  seen: ({ header }) => ({ header, data: null, context: null }),
  shows: () => false,
};

/**
 * The part of a stream that the `read` rules show today. Of a document or global that the caller may read: the readable
 * fields, except those that a read hook changes. Of drafts the same, if the rule `readDrafts` admits to the draft of
 * today. Of the account of a user whom the caller may read: all. Of a deleted document, and of a stream that no rule is
 * about: nothing.
 */
export async function sightByRules({ app, request }: RouteCall, stream: string): Promise<Sight> {
  if (stream === apiKeyStream) return (await managesKeys({ app, request })) ? seesAll : seesNothing;
  if (releaseIdOf(stream) !== null) return (await mayUseReleases({ app, request }, 'read')) ? seesAll : seesNothing;
  // The rules are asked about the state after all events that the log has by now.
  await whenReadable(app, app.events.head().size);
  const found = subjectOf(stream);
  const target = found && (found.category === null ? app.globals.get(found.id) : app.byCategory.get(found.category));
  if (!found || !target) return seesNothing;
  const call = { app, request, target };
  const { states, hasDrafts } = await statesOf(call, found);
  if (states.length === 0) return seesNothing;
  if (found.isAccount) return seesAll;
  const fields = await recordedFields(call, states);
  if (!fields || fields.length === 0) return seesNothing;
  const isWhole = countIn(fields) === countIn(target.model.fields) && (hasDrafts || target.lines === null);
  return { ...sightOf(fields, app.upcaster(), hasDrafts), isWhole };
}

/** The states of a document that the caller may see today: what is public, and the draft. */
async function statesOf(call: Call, { category, id, isAccount }: Subject) {
  const { target } = call;
  const document = category === null ? globalOf(call) : target.documents.current(id)?.document;
  // A caller who may not read what is public is shown no draft of it here.
  if (document && !(await mayRead(call, document))) return { states: [], hasDrafts: false };
  const states: JsonObject[] = document ? [document] : [];
  const lines = isAccount ? undefined : target.lines?.(id);
  const hasDrafts = lines !== undefined && (await mayReadDrafts(call, lines));
  if (hasDrafts && lines.draft && lines.draft !== lines.published) states.push(lines.draft);
  return { states, hasDrafts };
}

/** The refusal of a caller who sees nothing of a stream, whether it exists or not. */
export function hiddenByRules(stream: string): DomainError {
  const message =
    `you may not see what ${show(stream)} holds: without an audit rule the history shows what the rules for reading show ` +
    'today, of what is there today';
  return new DomainError('forbidden', message);
}

/** The document, global or account that a stream is about; `category` is null of a global, whose id is its slug. */
type Subject = { category: Category | null; id: string; isAccount: boolean };

function subjectOf(stream: string): Subject | null {
  const [category, id] = splitStream(stream);
  if (category === globalsCategory) return { category: null, id, isAccount: false };
  const account = splitAccountStream(stream);
  if (account?.isInvite) return null;
  return account ? { category: account.category, id: account.id, isAccount: true } : { category, id, isAccount: false };
}

/** The document of a global: it exists from the start, with its defaults. */
function globalOf({ target: { slug, documents, defaults } }: Call): JsonObject | undefined {
  const found = documents.current(slug)?.document ?? defaults?.();
  const { id: _slug, ...document } = found ?? {};
  return found && document;
}

function sightOf(fields: readonly Field[], upcaster: Upcaster, hasDrafts: boolean): Omit<Sight, 'isWhole'> {
  const names = new Set(['id', 'createdAt', 'updatedAt', ...fields.map(({ name }) => name)]);

  function seen({ header, data, context }: RecordedEvent): SeenEvent {
    if (data === null) return { header, data, context };
    if (!hasDrafts && isDraftOnly(header.type)) return { header, data: null, context: null, isWithheld: true };
    const ofToday = upcaster.upcast(schemaKey(header.stream), header, data);
    const shown = shownOf(header, ofToday);
    // A payload of which nothing is left out stays word for word. A rename may leave out a removed field of that name.
    if (isDeepStrictEqual(shown, ofToday) && membersIn(ofToday) === membersIn(data)) return { header, data, context };
    return { header, data: shown, context, isPartial: true, isOfToday: true };
  }

  function shownOf({ type }: Header, data: JsonObject): JsonObject {
    if (isCreation(type)) return only(data);
    const { source, version, release, to, note, document, set, unset } = data;
    return {
      ...(isObject(source) && { source }),
      ...Object.fromEntries(Object.entries({ version, release, to, note }).filter(([, value]) => value !== undefined)),
      ...(isObject(document) && { document: only(document) }),
      ...(isObject(set) && { set: only(set) }),
      ...(Array.isArray(unset) && { unset: unset.filter((name) => names.has(String(name))) }),
    };
  }

  function only(values: JsonObject): JsonObject {
    const inside = onlyThese(fields, values);
    return Object.fromEntries(
      Object.entries(values).flatMap(([name, value]) => (names.has(name) ? [[name, inside[name] ?? value]] : [])),
    );
  }

  return { extent: 'some', hasDrafts, seen, shows: (field) => names.has(field) };
}

/** The number of members in a value, at any depth. */
function membersIn(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((count: number, one) => count + 1 + membersIn(one), 0);
}

function countIn(fields: readonly Field[]): number {
  return fields.reduce((count, field) => count + 1 + countIn(fieldsInside(field)), 0);
}

/** The values of fields, at any depth; other members are left out. */
function onlyThese(fields: readonly Field[], values: JsonObject): JsonObject {
  const known = new Map(fields.map((field) => [field.name, field]));
  const shown: [name: string, value: Json][] = [];
  for (const [name, value] of Object.entries(values)) {
    const field = known.get(name);
    if (!field) continue;
    const inner = mapObjects(field, value, (inside) => ({
      ...tagOf({ slug: slugOf(inside.values) }),
      ...onlyThese(inside.fields, inside.values),
    }));
    shown.push([name, inner]);
  }
  return Object.fromEntries(shown);
}
