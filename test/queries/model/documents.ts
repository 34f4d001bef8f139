import type { Field } from '../../../config/model.ts';
import type { Json, JsonObject } from '../../../config/schema.ts';
import { fieldsOf, own, type Slug } from '../../projections/filters.ts';
import type { World } from '../../projections/matching.ts';

/** A caller: the API key, a user whose rules are conditions, and one whose rule for things looks at each. */
export type Role = 'key' | 'where' | 'row';

/** All documents of a moment. */
export type State = { position: number; things: readonly JsonObject[]; others: readonly JsonObject[] };

/** The documents that a list is about, and the documents of today, which decide for users. */
export type Sight = { role: Role; state: State; today: State };

/** The fields that no user may read. */
export const hidden: Record<Slug, readonly string[]> = {
  things: ['dial', 'group.inner.code', 'items.tags'],
  others: ['n'],
};
/** The field of things whose rule reads the document. */
export const lookedAt = 'body';

/** Whether a user may read a document, by the document alone. */
export function isAllowed(role: Role, slug: Slug, doc: JsonObject): boolean {
  if (role === 'key') return true;
  if (slug === 'others') return doc.flag !== true;
  return role === 'where' ? doc.n !== 10 : doc.m !== 2;
}

/** Whether a user may read the field whose rule reads the document. */
export function isLookedAt(doc: JsonObject): boolean {
  return doc.flag !== true;
}

function todayOf({ today }: Sight, slug: Slug, { id }: JsonObject): JsonObject | undefined {
  return today[slug].find((one) => one.id === id);
}

/** The documents that the caller may read, for a plain filter. */
export function worldOf(sight: Sight): World {
  const { role, state, today } = sight;
  return {
    ...state,
    isShown: (doc, slug) => {
      if (!isAllowed(role, slug as Slug, doc)) return false;
      if (role === 'key' || state === today) return true;
      const now = todayOf(sight, slug as Slug, doc);
      return now !== undefined && isAllowed(role, slug as Slug, now);
    },
  };
}

/** Whether the caller may use a path, in a filter, or only to select. */
export function mayUse(role: Role, path: string, purpose: 'filter' | 'select'): boolean {
  if (role === 'key') return true;
  let slug: Slug = 'things';
  let fields: readonly Field[] = [...own, ...fieldsOf(slug)];
  const inside: string[] = [];
  const names = path.split('.');
  for (const [index, name] of names.entries()) {
    const field = fields.find((one) => one.name === name);
    if (!field) return true;
    inside.push(name);
    if (hidden[slug].includes(inside.join('.'))) return false;
    if (purpose === 'filter' && slug === 'things' && inside.join('.') === lookedAt) return false;
    if (field.relationTo) {
      slug = field.relationTo as Slug;
      if (purpose === 'filter' && role === 'row' && slug === 'things' && index < names.length - 1) return false;
      fields = [...own, ...fieldsOf(slug)];
      inside.length = 0;
    } else fields = [...(field.fields ?? []), ...(field.blocks ?? []).flatMap((block) => block.fields)];
  }
  return true;
}

/** Selected members, each with those inside it; a member without any is selected as a whole. */
export type Selected = { [name: string]: Selected };

export function selectedBy(paths: readonly string[]): Selected {
  const root: Selected = {};
  for (const path of paths) {
    let at = root;
    for (const name of path.split('.')) {
      at[name] ??= {};
      at = at[name];
    }
  }
  return root;
}

type Showing = { sight: Sight; world: World; slug: Slug; around: readonly string[]; depth: number };

/** A document as the caller is shown it. `select`: null for all members. */
export function shown(
  sight: Sight,
  doc: JsonObject,
  { depth, select }: { depth: number; select: Selected | null },
): JsonObject {
  const showing = { sight, world: worldOf(sight), slug: 'things' as const, around: [], depth };
  return documentIn(showing, doc, select);
}

function documentIn(showing: Showing, doc: JsonObject, select: Selected | null): JsonObject {
  const { sight, slug, around } = showing;
  const members = membersOf({ ...showing, around: [...around, String(doc.id)] }, doc, {
    fields: [...own, ...fieldsOf(slug)],
    select: select && { ...select, id: {} },
    inside: '',
  });
  if (slug === 'things' && sight.role !== 'key') {
    const now = todayOf(sight, slug, doc);
    if (!isLookedAt(doc) || (now && !isLookedAt(now))) delete members[lookedAt];
  }
  return members;
}

type Level = { fields: readonly Field[]; select: Selected | null; inside: string };

function membersOf(showing: Showing, values: JsonObject, { fields, select, inside }: Level): JsonObject {
  const result: JsonObject = {};
  for (const field of fields) {
    const path = inside + field.name;
    if (showing.sight.role !== 'key' && hidden[showing.slug].includes(path)) continue;
    if (select && !Object.hasOwn(select, field.name)) continue;
    const below = select?.[field.name] ?? {};
    const next = Object.keys(below).length > 0 ? below : null;
    result[field.name] = valueIn(showing, field, { value: values[field.name] ?? null, select: next, path });
  }
  return result;
}

type Place = { value: Json; select: Selected | null; path: string };

function valueIn(showing: Showing, field: Field, { value, select, path }: Place): Json {
  if (field.relationTo && Array.isArray(value)) return value.map((id) => relatedIn(showing, field, { id, select }));
  if (value === null) return null;
  if (field.relationTo) return relatedIn(showing, field, { id: value, select });
  const inside = `${path}.`;
  if (field.blocks) {
    return (value as JsonObject[]).map((item) => {
      const fieldsOfBlock = field.blocks?.find((block) => block.slug === item.blockType)?.fields ?? [];
      const members = membersOf(showing, item, { fields: fieldsOfBlock, select, inside });
      return { blockType: item.blockType as string, ...members };
    });
  }
  const { fields } = field;
  if (!fields) return value;
  if (field.type === 'object') return membersOf(showing, value as JsonObject, { fields, select, inside });
  return (value as JsonObject[]).map((item) => membersOf(showing, item, { fields, select, inside }));
}

function relatedIn(showing: Showing, field: Field, { id, select }: { id: Json; select: Selected | null }): Json {
  const { world, around, depth } = showing;
  const slug = field.relationTo as Slug;
  const found = world[slug].find((one) => one.id === id);
  const isPopulated = select !== null || depth > 0;
  if (!isPopulated || !found || around.includes(String(id)) || !world.isShown(found, slug)) return id;
  return documentIn({ ...showing, slug, depth: depth - 1 }, found, select);
}
