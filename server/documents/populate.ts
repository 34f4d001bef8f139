import { invalidField } from '../../config/errors.ts';
import type { Field, User } from '../../config/model.ts';
import { type Inside, mapObjects } from '../../config/nesting.ts';
import type { Json, JsonObject } from '../../config/schema.ts';
import { someOf } from '../access/document-access.ts';
import { scopeElsewhere } from '../access/list-scope.ts';
import type { App, Call, Target } from '../app.ts';

/** A document and those it stands in, up to the one that was asked for: one of them stays its id. */
type Path = { key: string; up: Path | null };

/** A document whose relations are to be followed. */
type Node = { target: Target; document: JsonObject; path: Path };

/** A place where an id stands: setting it puts the document there instead. */
type Slot = { slug: string; id: string; path: Path; set: (document: JsonObject) => void };

/** The documents that were read, by their keys; null for one that this caller does not see. */
type Shown = Map<string, JsonObject | null>;

/** Makes stored documents what the caller may see of them, their relations still ids. */
export type Show = (call: Call, documents: readonly JsonObject[]) => Promise<JsonObject[]>;

/** Branches multiply: a short query must not become an answer of gigabytes. */
const maxPopulated = 20_000;

/**
 * Puts related documents in the place of their ids, `depth` levels down (contract, section 4.8): one query per collection
 * and level. A document that is gone, or that this caller may not read, stays its id; so does a document inside itself, and what a join
 * names in documents other than those that were asked for.
 *
 * @throws DomainError `invalid` when there would be too many of them.
 */
export async function populate(
  call: Call,
  documents: readonly JsonObject[],
  { depth, show }: { depth: number; show: Show },
): Promise<JsonObject[]> {
  const shown: Shown = new Map();
  const { result, first } = begin(call.target, documents);
  let level = first;
  let left = maxPopulated;
  for (let below = depth; below > 0 && level.length > 0; below -= 1) {
    const slots = slotsOf(level, left, depth);
    left -= slots.length;
    for (const [slug, ids] of wantedIn(slots, shown)) {
      for (const id of ids) shown.set(keyOf(slug, id), null);
      const target = call.app.collections.get(slug);
      if (target) await look({ ...call, target }, ids, { shown, show });
    }
    level = fill(call.app, slots, shown, below === 1);
  }
  return result;
}

/**
 * A user as rules, hooks and mails see it (contract, section 2.2): the document as it is stored, which never holds a
 * password, its relations followed to `auth.depth` without asking the rights of anybody; null when there is no such user.
 */
export function readUser(app: Collections, slug: string, id: string): User | null {
  const target = app.collections.get(slug);
  const auth = target?.model.auth;
  const text = auth ? target.documents.text(id) : null;
  if (!target || !auth || text === null) return null;
  const document = JSON.parse(text);
  const whole = auth.depth > 0 ? populateAll({ app, target }, document, auth.depth) : document;
  return { ...whole, id, collection: slug };
}

function populateAll({ app, target }: Asked, document: JsonObject, depth: number): JsonObject {
  const shown: Shown = new Map();
  const { result, first } = begin(target, [document]);
  let level = first;
  for (let below = depth; below > 0 && level.length > 0; below -= 1) {
    const slots = slotsOf(level, maxPopulated, depth);
    for (const [slug, ids] of wantedIn(slots, shown)) {
      const found = app.collections.get(slug)?.documents.some(ids, null);
      for (const id of ids) shown.set(keyOf(slug, id), JSON.parse(found?.get(id) ?? 'null'));
    }
    level = fill(app, slots, shown, below === 1);
  }
  return result[0] as JsonObject;
}

type Collections = Pick<App, 'collections'>;

type Asked = { app: Collections; target: Target };

function begin(target: Target, documents: readonly JsonObject[]): { result: JsonObject[]; first: Node[] } {
  const result = documents.map((document) => ({ ...document }));
  const first = result.map((document): Node => {
    return { target, document, path: { key: keyOf(target.slug, String(document.id)), up: null } };
  });
  return { result, first };
}

/** The ids that the places ask for and that were not read before, by collection. */
function wantedIn(slots: readonly Slot[], shown: ReadonlyMap<string, unknown>): Map<string, string[]> {
  const wanted = slots.filter(({ slug, id }) => !shown.has(keyOf(slug, id)));
  const bySlug = Map.groupBy(wanted, ({ slug }) => slug);
  return new Map([...bySlug].map(([slug, group]) => [slug, [...new Set(group.map(({ id }) => id))]]));
}

/** Reads documents of a collection: what this caller does not see stays null. */
async function look(call: Call, ids: readonly string[], { shown, show }: { shown: Shown; show: Show }): Promise<void> {
  const scope = await scopeElsewhere(call);
  if (!scope) return;
  const stored: JsonObject[] = [];
  for (const text of (await someOf(call, ids, scope.where)).values()) {
    const document: JsonObject = JSON.parse(text);
    if (!scope.row || (await scope.row(document))) stored.push(document);
  }
  const documents = await show(call, stored);
  for (const [index, { id }] of stored.entries()) {
    shown.set(keyOf(call.target.slug, String(id)), documents[index] ?? null);
  }
}

/** On the last level all places share a document; above it each has its own, for what is around it decides how it goes on. */
function fill(
  app: Collections,
  slots: readonly Slot[],
  shown: ReadonlyMap<string, JsonObject | null>,
  isLast: boolean,
): Node[] {
  const next: Node[] = [];
  for (const { slug, id, path, set } of slots) {
    const key = keyOf(slug, id);
    const found = shown.get(key);
    const target = app.collections.get(slug);
    if (!found || !target) continue;
    const document = isLast ? found : { ...found };
    set(document);
    if (!isLast) next.push({ target, document, path: { key, up: path } });
  }
  return next;
}

function keyOf(slug: string, id: string): string {
  return `${slug}/${id}`;
}

function isInside(key: string, path: Path): boolean {
  for (let at: Path | null = path; at; at = at.up) if (at.key === key) return true;
  return false;
}

function slotsOf(level: readonly Node[], most: number, depth: number): Slot[] {
  const slots: Slot[] = [];
  for (const { target, document, path } of level) {
    collect(target.model.fields, document, { path, slots });
    if (slots.length > most) {
      const problem = `${depth} puts more than ${maxPopulated} documents into this answer: ask for less depth or a smaller limit`;
      throw invalidField('depth', problem);
    }
  }
  return slots;
}

/** The places found so far of one document. */
type Finding = { path: Path; slots: Slot[] };

function collect(fields: readonly Field[], values: JsonObject, finding: Finding): void {
  for (const field of fields) {
    const value = Object.hasOwn(values, field.name) ? values[field.name] : null;
    if (value === null || value === undefined) continue;
    const slug = field.relationTo ?? (finding.path.up === null ? field.collection : undefined);
    values[field.name] = slug
      ? collectIds(slug, value, finding, (document) => Reflect.set(values, field.name, document))
      : mapObjects(field, value, (inside) => collectInside(inside, finding));
  }
}

/** Gives the value to put documents into: of a list a copy. */
function collectIds(slug: string, value: Json, finding: Finding, set: Slot['set']): Json {
  if (!Array.isArray(value)) {
    collectId(slug, value, finding, set);
    return value;
  }
  const list = [...value];
  for (const [index, id] of value.entries()) {
    collectId(slug, id, finding, (document) => {
      list[index] = document;
    });
  }
  return list;
}

function collectId(slug: string, id: Json, { path, slots }: Finding, set: Slot['set']): void {
  if (typeof id === 'string' && !isInside(keyOf(slug, id), path)) slots.push({ slug, id, path, set });
}

/** Gives a copy to put documents into: the object may be shared with another place, or belong to a hook. */
function collectInside({ fields, values }: Inside<Field>, finding: Finding): JsonObject {
  const copy = { ...values };
  collect(fields, copy, finding);
  return copy;
}
