import { type DomainError, inQuery, invalidField } from '../../../config/errors.ts';
import type { Field, User } from '../../../config/model.ts';
import { type Inside, mapObjects } from '../../../config/nesting.ts';
import type { Json, JsonObject } from '../../../config/schema.ts';
import type { Members } from '../../../projections/query/lists.ts';
import { someOf } from '../../access/document-access.ts';
import { collectionInView } from '../../access/draft-view.ts';
import { scopeOfRelated } from '../../access/list-scope.ts';
import type { App, Call, Target } from '../../app.ts';
import { insideOf, type Selection, selectedIn, targetOf, type View, whole } from '../../queries/selection.ts';
import { membersOfRelated, membersToRead, selectionOfRelated } from './view.ts';

/** A document and the documents around it, up to the one that was asked for: inside, an id of these stays an id. */
type Path = { key: string; up: Path | null };

/** A document whose relations are to be followed. */
type Node = { target: Target; document: JsonObject; path: Path; selection: Selection };

/** An id in a document: `set` puts the related document in its place, with the selected members. */
type Slot = { slug: string; id: string; path: Path; selection: Selection; set: (document: JsonObject) => void };

/** The documents that were read, by their keys; null for a document that this caller does not see. */
type ShownDocuments = Map<string, JsonObject | null>;

/**
 * Reduces stored documents to what the caller may see; relations are still ids. More members than wanted may be left.
 */
type Show = (call: Call, documents: readonly JsonObject[], wanted: Members) => Promise<JsonObject[]>;

/** Branches multiply: a short query must not become an answer of gigabytes. */
const maxPopulated = 20_000;

/**
 * Keeps the selected members of documents, and puts related documents in the place of their ids: `depth` levels down
 * (contract, section 4.8), and along the paths of the selection; one query per collection and level. An id stays an id
 * if its document is deleted, if this caller may not read it, and if it is the id of a document around it. So do the
 * ids of joins below the documents that were asked for, unless a path goes through them.
 *
 * @throws DomainError `validation_failed` if there would be too many related documents.
 */
export async function populate(
  call: Call,
  documents: readonly JsonObject[],
  { view, show }: { view: View; show: Show },
): Promise<JsonObject[]> {
  const shown: ShownDocuments = new Map();
  const { result, first } = begin(call.target, documents, view.select ?? whole);
  const wantedOf = membersOfRelated(call.app, call.target, view);
  let level = first;
  let left = maxPopulated;
  for (let below = view.depth; level.length > 0; below -= 1) {
    const slots = slotsOf(level, { below, most: left, view });
    left -= slots.length;
    for (const [slug, ids] of wantedIn(slots, shown)) {
      for (const id of ids) shown.set(keyOf(slug, id), null);
      const target = await collectionInView(call, slug);
      if (target) await look({ ...call, target }, ids, { shown, show, wanted: wantedOf(slug) });
    }
    level = fill(call.app, slots, { shown, below: below - 1 });
  }
  return result;
}

/**
 * A user as rules, hooks and mails see it (contract, section 2.2): the document as it is stored, which never holds a
 * password, with its relations followed to `auth.depth`; no rights are asked. Null if there is no such user.
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

function populateAll({ app, target }: ReadTarget, document: JsonObject, depth: number): JsonObject {
  const shown: ShownDocuments = new Map();
  const { result, first } = begin(target, [document], whole);
  let level = first;
  for (let below = depth; level.length > 0; below -= 1) {
    const slots = slotsOf(level, { below, most: maxPopulated, view: { depth, select: null } });
    for (const [slug, ids] of wantedIn(slots, shown)) {
      const found = app.collections.get(slug)?.documents.some(ids, null);
      for (const id of ids) shown.set(keyOf(slug, id), JSON.parse(found?.get(id) ?? 'null'));
    }
    level = fill(app, slots, { shown, below: below - 1 });
  }
  return result[0] as JsonObject;
}

type Collections = Pick<App, 'collections'>;

type ReadTarget = { app: Collections; target: Target };

function begin(
  target: Target,
  documents: readonly JsonObject[],
  selection: Selection,
): { result: JsonObject[]; first: Node[] } {
  const result = documents.map((document) => selectedIn(target.model.fields, document, selection));
  const first = result.map((document): Node => {
    return { target, document, path: { key: keyOf(target.slug, String(document.id)), up: null }, selection };
  });
  return { result, first };
}

/** The ids of the slots that were not read before, by collection. */
function wantedIn(slots: readonly Slot[], shown: ReadonlyMap<string, unknown>): Map<string, string[]> {
  const wanted = slots.filter(({ slug, id }) => !shown.has(keyOf(slug, id)));
  const bySlug = Map.groupBy(wanted, ({ slug }) => slug);
  return new Map([...bySlug].map(([slug, group]) => [slug, [...new Set(group.map(({ id }) => id))]]));
}

/** Reads documents of a collection: a document that this caller does not see stays null. */
async function look(
  call: Call,
  ids: readonly string[],
  { shown, show, wanted }: { shown: ShownDocuments; show: Show; wanted: Members },
): Promise<void> {
  const scope = await scopeOfRelated(call);
  if (!scope) return;
  const stored: JsonObject[] = [];
  const only = scope.row ? null : membersToRead(call, wanted);
  for (const text of (await someOf(call, { ids, where: scope.where, only })).values()) {
    const document: JsonObject = JSON.parse(text);
    if (!scope.row || (await scope.row(document))) stored.push(document);
  }
  const documents = await show(call, stored, wanted);
  for (const [index, { id }] of stored.entries()) {
    shown.set(keyOf(call.target.slug, String(id)), documents[index] ?? null);
  }
}

/**
 * Puts documents in the place of their ids, and gives those whose relations are followed next. On the last level all
 * slots share one whole document; above it each slot has its own, since its surroundings decide how it goes on.
 *
 * @param below the levels below the documents that are put in.
 */
function fill(
  app: Collections,
  slots: readonly Slot[],
  { shown, below }: { shown: ReadonlyMap<string, JsonObject | null>; below: number },
): Node[] {
  const next: Node[] = [];
  for (const { slug, id, path, selection, set } of slots) {
    const key = keyOf(slug, id);
    const found = shown.get(key);
    const target = app.collections.get(slug);
    if (!found || !target) continue;
    const isLast = below <= 0 && selection.members.size === 0;
    const document = isLast ? found : selectedIn(target.model.fields, found, selection);
    set(document);
    if (!isLast) next.push({ target, document, path: { key, up: path }, selection });
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

type Wants = { below: number; most: number; view: View };

function slotsOf(level: readonly Node[], { below, most, view }: Wants): Slot[] {
  const slots: Slot[] = [];
  for (const { target, document, path, selection } of level) {
    if (below <= 0 && selection.members.size === 0) continue;
    collect(target.model.fields, document, { path, slots, below, selection });
    if (slots.length > most) throw tooMany(view);
  }
  return slots;
}

function tooMany({ depth, select }: View): DomainError {
  const problem = `puts more than ${maxPopulated} documents into this answer: ask for`;
  return select
    ? invalidField(inQuery('select', 'too_expensive'), `${problem} less of it or a smaller limit`)
    : invalidField(inQuery('depth', 'too_expensive'), `${depth} ${problem} less depth or a smaller limit`);
}

/** The search for ids in a document: the slots so far, and what is selected of the object that is looked at. */
type Finding = { path: Path; slots: Slot[]; below: number; selection: Selection };

function collect(fields: readonly Field[], values: JsonObject, finding: Finding): void {
  for (const field of fields) {
    const value = Object.hasOwn(values, field.name) ? values[field.name] : null;
    const inside = insideOf(finding.selection, field.name);
    if (value === null || value === undefined || !inside) continue;
    const slug = targetOf(field);
    if (slug === undefined) {
      values[field.name] = mapObjects(field, value, (one) => collectInside(one, { ...finding, selection: inside }));
      continue;
    }
    const isFirst = finding.path.up === null;
    const selection = selectionOfRelated(field, inside, { below: finding.below, isFirst });
    if (!selection) continue;
    values[field.name] = collectIds(value, { ...finding, slug, selection }, (document) =>
      Reflect.set(values, field.name, document),
    );
  }
}

/** A value with ids of a collection, and what is selected of its documents. */
type RelationValue = Finding & { slug: string };

/** Collects the ids of a value. Gives the value to put documents into: a copy, if it is a list. */
function collectIds(value: Json, relation: RelationValue, set: Slot['set']): Json {
  if (!Array.isArray(value)) {
    collectId(value, relation, set);
    return value;
  }
  const list = [...value];
  for (const [index, id] of value.entries()) {
    collectId(id, relation, (document) => {
      list[index] = document;
    });
  }
  return list;
}

function collectId(id: Json, { slug, path, slots, selection }: RelationValue, set: Slot['set']): void {
  if (typeof id === 'string' && !isInside(keyOf(slug, id), path)) slots.push({ slug, id, path, selection, set });
}

/** Gives a copy of an object to put documents into: others may share the object, or it may belong to a hook. */
function collectInside({ fields, values }: Inside<Field>, finding: Finding): JsonObject {
  const copy = { ...values };
  collect(fields, copy, finding);
  return copy;
}
