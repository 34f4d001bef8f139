import { partsOf } from '../../config/nesting.ts';
import { categoryOf, type DataField, dataFields, type FieldSchema, type Schema } from '../../config/schema.ts';
import { didYouMean, show } from '../../config/suggest.ts';
import { globalStream } from './catalogue.ts';

/** A schema and the position from which it held: the position of its `schema.changed`. */
export type Epoch = { position: number; schema: Schema };

/** The renames of one list of fields. */
export type Renames = {
  /** Old name → new name. */
  names: Map<string, string>;
  /** By new name, if the old name had gone before: the position from which values under the new name belong to it. */
  since: Map<string, number>;
  /** By new name: the renames inside the field. */
  inside: Map<string, Renames>;
  /** By slug, for objects that name the part of the field to which they belong. */
  blocks?: Map<string, Renames>;
};

/** The renames of fields by a change of the schema, by the keys of collections and globals. */
type RenameStep = { position: number; renames: Map<string, Renames> };

/** How the last of some schemas uses names of earlier schemas. */
type NameFindings = {
  /** Each `renamedFrom` without values to take, one line each. */
  problems: string[];
  /** The fields, by path, and the collections whose values of an earlier schema are back, with a line about each. */
  returning: Map<string, string>;
};

/** A field that a list has, or had. */
type FieldHistory = {
  /** The field as it was last declared. */
  field: DataField;
  /** The names of all fields of the list in the last schema that had the field. */
  beside: ReadonlySet<string>;
  /** The position of the first schema of the list without it; null while it is declared. */
  goneAt: number | null;
  /** The other names that its values had. */
  former: ReadonlySet<string>;
  /** The fields inside it, by the slugs of its parts. */
  inside: ReadonlyMap<string | null, List>;
};

/** The fields that a list has or had, by name; a renamed field by its new name only. */
type List = ReadonlyMap<string, FieldHistory>;

/** The name of a list for people, the position of the schema that declares it, and the findings about it. */
type ListContext = { name: string; position: number; found: NameFindings };

/** The fields of a collection or global: `key` is what its streams follow, `name` what people call it. */
export type KeyedFields = { key: string; name: string; fields: readonly FieldSchema[] };

/** The fields of collections and globals. */
export function keyedFields({ collections, globals }: Schema): KeyedFields[] {
  return [
    ...collections.map((one): KeyedFields => ({ key: categoryOf(one), name: one.slug, fields: one.fields })),
    ...globals.map(({ slug, fields }): KeyedFields => ({ key: globalStream(slug), name: globalStream(slug), fields })),
  ];
}

/**
 * Follows each field through the schemas of a log, under all the names that it had.
 *
 * @param epochs in the order of their positions.
 */
export function followNames(epochs: readonly Epoch[]): { steps: RenameStep[]; names: NameFindings } {
  const steps: RenameStep[] = [];
  let names: NameFindings = { problems: [], returning: new Map() };
  // A collection may be removed for a while and come back with other names.
  const known = new Map<string, List>();
  const called = new Map<string, string>();
  let present = new Set<string>();
  for (const { position, schema } of epochs) {
    names = { problems: [], returning: new Map() };
    const renames = new Map<string, Renames>();
    const keyed = keyedFields(schema);
    for (const { key, name, fields } of keyed) {
      const before = known.get(key);
      const isBack = before !== undefined && !present.has(key);
      const found = isBack ? { ...names, returning: new Map<string, string>() } : names;
      const followed = follow(before, fields, { name, position, found });
      if (followed.renames) renames.set(key, followed.renames);
      known.set(key, followed.list);
      const former = called.get(key) ?? name;
      const then = former === name ? '' : ` as ${former}`;
      if (isBack) names.returning.set(name, `${name} was there before${then}: its documents are back`);
      called.set(key, name);
    }
    present = new Set(keyed.map(({ key }) => key));
    if (renames.size > 0) steps.push({ position, renames });
  }
  return { steps, names };
}

function follow(before: List | undefined, declared: readonly FieldSchema[], place: ListContext) {
  const fields = dataFields(declared);
  const beside = new Set(fields.map(({ name }) => name));
  const list = new Map<string, FieldHistory>();
  const renames: Renames = { names: new Map(), since: new Map(), inside: new Map() };
  for (const field of fields) {
    const { name } = field;
    const own = before?.get(name);
    const source = sourceOf(before, field);
    if (source) renames.names.set(source.field.name, name);
    if (source && source.goneAt !== null) renames.since.set(name, source.goneAt);
    const known = source ? joined(source, own) : own;
    const inside = followInside(known, field, { ...place, name: `${place.name}.${name}` });
    if (inside.renames) renames.inside.set(name, inside.renames);
    list.set(name, { field, beside, goneAt: null, former: known?.former ?? new Set(), inside: inside.lists });
    if (before) find(place, { field, own, source, before });
  }
  for (const [name, entry] of before ?? []) {
    if (list.has(name) || renames.names.has(name)) continue;
    list.set(name, { ...entry, goneAt: entry.goneAt ?? place.position });
  }
  return { list, renames: renames.names.size + renames.inside.size > 0 ? renames : undefined };
}

/**
 * The entry whose values a field takes: the entry of `renamedFrom`, even if it has been gone for a while. But if both
 * were last declared in one schema, each has its own values, and none are taken.
 */
function sourceOf(before: List | undefined, { name, renamedFrom }: DataField): FieldHistory | undefined {
  const source = renamedFrom === undefined ? undefined : before?.get(renamedFrom);
  return source?.beside.has(name) ? undefined : source;
}

/** A field that has taken the values of another; `own` is the field that had its name before. */
function joined(source: FieldHistory, own: FieldHistory | undefined): FieldHistory {
  const former = new Set([...source.former, source.field.name]);
  // The values of an earlier field of that name are dropped.
  if (source.goneAt === null || !own) return { ...source, former };
  return {
    ...own,
    former: new Set([...own.former, ...former]),
    inside: mergedParts(source.inside, own.inside, source.goneAt),
  };
}

type FieldParts = FieldHistory['inside'];

/** The parts of a field that was gone at a position, merged with those of the field that replaced it there. */
function mergedParts(older: FieldParts, newer: FieldParts, goneAt: number): FieldParts {
  const slugs = new Set([...older.keys(), ...newer.keys()]);
  return new Map([...slugs].map((slug) => [slug, merged(older.get(slug), newer.get(slug), goneAt)]));
}

function merged(older: List = new Map(), newer: List = new Map(), goneAt: number): List {
  const list = new Map<string, FieldHistory>();
  for (const [name, entry] of older) list.set(name, { ...entry, goneAt: entry.goneAt ?? goneAt });
  for (const [name, entry] of newer) {
    const inside = mergedParts(older.get(name)?.inside ?? new Map(), entry.inside, goneAt);
    list.set(name, { ...entry, inside });
  }
  return list;
}

function followInside(known: FieldHistory | undefined, field: DataField, place: ListContext) {
  const lists = new Map(known?.inside);
  const blocks = new Map<string, Renames>();
  let renames: Renames | undefined;
  for (const { slug, fields } of partsOf(field)) {
    const name = slug === null ? place.name : `${place.name}.${slug}`;
    const followed = follow(lists.get(slug), fields, { ...place, name });
    lists.set(slug, followed.list);
    if (followed.renames && slug === null) renames = followed.renames;
    if (followed.renames && slug !== null) blocks.set(slug, followed.renames);
  }
  if (blocks.size > 0) renames = { names: new Map(), since: new Map(), inside: new Map(), blocks };
  return { lists, renames };
}

type FollowedField = {
  field: DataField;
  own: FieldHistory | undefined;
  source: FieldHistory | undefined;
  before: List;
};

/** Notes what a field does with names of earlier schemas. */
function find({ name: list, found }: ListContext, { field, own, source, before }: FollowedField): void {
  const path = `${list}.${field.name}`;
  if (source && source.goneAt !== null) {
    found.returning.set(path, `${path} takes the values that documents had as ${list}.${source.field.name}`);
  } else if (own && own.goneAt !== null && !source) {
    const back = `${path} was there before: the values that documents had under that name are back`;
    found.returning.set(path, back);
  }
  const { renamedFrom } = field;
  if (renamedFrom === undefined || source) return;
  // An earlier schema has used this rename, or a finding was made about it then.
  if (own?.goneAt === null && own.field.renamedFrom === renamedFrom) return;
  if (!before.has(renamedFrom) && own?.former.has(renamedFrom)) return;
  found.problems.push(`${path}.renamedFrom: ${whyNone(list, { field, before, renamedFrom })}`);
}

type RenameClaim = Pick<FollowedField, 'field' | 'before'> & { renamedFrom: string };

function whyNone(list: string, { field, before, renamedFrom }: RenameClaim): string {
  const [own, old] = [`${list}.${field.name}`, `${list}.${renamedFrom}`];
  if (before.has(renamedFrom))
    return `${own} was a field beside ${old}, and keeps its own values: it takes none of it; leave renamedFrom out`;
  const heir = [...before.values()].find(({ former }) => former.has(renamedFrom));
  if (heir) return `the values of ${show(renamedFrom)} are those of ${list}.${heir.field.name} since it was renamed`;
  const free = [...before.values()].filter(({ beside }) => !beside.has(field.name)).map(({ field: { name } }) => name);
  return `${list} never had a field ${show(renamedFrom)}, so there are no values to take${didYouMean(renamedFrom, free)}`;
}
