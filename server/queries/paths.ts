import type { Problem } from '../../config/errors.ts';
import { affinityOf, isList } from '../../config/field-types.ts';
import type { Field } from '../../config/model.ts';
import { type Block, blocksOf, fieldsInside, isNesting, partsOf, tagFields } from '../../config/nesting.ts';
import { maxSortKeys, ownFields, readOwnSort } from '../../config/sorting.ts';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import type { Leaf, PathStep, SortKey, Where } from '../../projections/query/where.ts';
import type { Tables } from '../../projections/tables/tables.ts';
import type { ValueKind } from '../../projections/tables/value-locations.ts';
import { draftNames } from './line-fields.ts';

/** The part of a collection that a caller may search: the fields, and the documents of related collections. */
export type SearchReach = {
  tables: Tables;
  /** The fields that this caller may filter and sort by. */
  fields: readonly Field[];
  /** The reach of another collection; null if the caller may see nothing of it. */
  related: (slug: string) => Promise<{ reach: SearchReach; filter: Where | null } | null>;
};

/** How many relationships a path may go through. */
export const maxHops = 5;

/** A path that was found: its steps, and the field at its end. */
export type FoundPath = {
  steps: PathStep[];
  leaf: Leaf;
  field: Pick<Field, 'type' | 'hasMany' | 'options' | 'isAccountEmail' | 'isDocumentId'>;
};

/** Follows a dotted path through objects, lists and relationships; a text says why it leads nowhere. */
export async function resolvePath(path: string, reach: SearchReach): Promise<FoundPath | string> {
  const names = path.split('.');
  const steps: PathStep[] = [];
  let level: Level = { fields: [...ownFields, ...reach.fields], reach, isTop: true };
  let hops = 0;
  for (const [index, name] of names.entries()) {
    const field = level.fields.find((one) => one.name === name);
    if (!field || field.type === 'join') return notFound(names.slice(0, index), name, level.fields);
    if (index === names.length - 1) return { steps, leaf: leafOf(field, level.isTop), field };
    if (field.relationTo) hops += 1;
    if (hops > maxHops) return `must not go through more than ${maxHops} relationships`;
    const next = await enter(field, level.reach, names.slice(index + 1));
    if (!next) return notFound(names.slice(0, index + 1), names[index + 1] ?? '', []);
    steps.push(next.step);
    level = next.level;
  }
  return notFound([], path, level.fields);
}

/** The fields that a path can go on to, and their collection. */
type Level = { fields: readonly Field[]; reach: SearchReach; isTop: boolean };

/** @param rest the names of the path after `field`. */
async function enter(
  field: Field,
  reach: SearchReach,
  rest: readonly string[],
): Promise<{ step: PathStep; level: Level } | null> {
  const { name } = field;
  if (field.relationTo) {
    const related = await reach.related(field.relationTo);
    if (!related) return null;
    const step: PathStep = {
      kind: 'related',
      name,
      isList: isList(field),
      tables: related.reach.tables,
      filter: related.filter,
    };
    return { step, level: { fields: [...ownFields, ...related.reach.fields], reach: related.reach, isTop: true } };
  }
  if (!isNesting(field)) return null;
  if (!isList(field))
    return { step: { kind: 'member', name }, level: { fields: fieldsInside(field), reach, isTop: false } };
  const blocks = blocksWith(field, rest);
  const fields = (blocks ?? partsOf(field)).flatMap((part) => part.fields);
  return {
    step: { kind: 'items', name, blockTypes: blocks?.map(({ slug }) => slug) ?? null },
    level: { fields: [...tagFields(field), ...fields], reach, isTop: false },
  };
}

/**
 * The types of block that a path leads into: this caller may follow it there, and it ends at the same type of field as
 * in the first one. Null if it leads into none, or is about every block.
 */
function blocksWith(field: Field, rest: readonly string[]): Block<Field>[] | null {
  const blocks = blocksOf(field);
  if (tagFields(field).some(({ name }) => name === rest[0])) return null;
  const ends = blocks.map(({ fields }) => endOf(fields, rest));
  const end = ends.find((one) => one !== null);
  return end === undefined ? null : blocks.filter((_, index) => ends[index] === end);
}

/** The types of the fields along a path, as a text to compare; null if it leads nowhere. */
function endOf(fields: readonly Field[], [name, ...rest]: readonly string[]): string | null {
  const field = fields.find((one) => one.name === name);
  if (!field) return null;
  const own = [field.type, field.hasMany === true, field.relationTo].join(' ');
  if (rest.length === 0 || field.relationTo) return own;
  if (tagFields(field).some((tag) => tag.name === rest[0])) return own;
  const ends = partsOf(field).map((part) => `${part.slug ?? ''} ${endOf(part.fields, rest)}`);
  return ends.every((one) => one.endsWith(' null')) ? null : [own, ...ends].join(' > ');
}

/** The form in which the value of a field is compared; `isTop`: the field of a document, not of an object in it. */
export function leafOf(field: Field, isTop: boolean): Leaf {
  return {
    name: field.name,
    kind: isTop && /^(created|updated|__published)At$/.test(field.name) ? 'number' : kindOf(field),
  };
}

function kindOf(field: Field): ValueKind {
  if (field.type === 'multiSelect' || field.name === '__editors' || (field.relationTo && isList(field))) return 'list';
  const affinity = affinityOf(field);
  return affinity ? kinds[affinity] : 'json';
}

const kinds = { TEXT: 'text', REAL: 'number', INTEGER: 'boolean' } as const;

/** The problem of a name in a path. A field that the caller may not read is told as one that does not exist. */
export function unknownField(
  before: readonly string[],
  name: string,
  { fields, purpose }: { fields: readonly Field[]; purpose: string },
): string {
  const hasDrafts = fields.some((field) => field.name === '__publishedAt');
  if (hasDrafts && draftNames.includes(name))
    return `${show(name)} needs draft=true: what is public tells nothing of drafts`;
  // Several blocks may have a field of this name.
  const names = [...new Set(fields.map((field) => field.name))];
  const where = before.length > 0 ? ` of ${show(before.join('.'))}` : '';
  const allowed = names.length > 0 ? `; allowed: ${showAll(names)}` : '';
  return `${show(name)} is not a field${where} ${purpose}${didYouMean(name, names)}${allowed}`;
}

function notFound(before: readonly string[], name: string, fields: readonly Field[]): string {
  const single = fields.filter(({ type }) => type !== 'join');
  return unknownField(before, name, { fields: single, purpose: 'to filter or sort by' });
}

/**
 * Reads a `sort` (contract, section 4.8): several paths, separated by commas, `-` for descending.
 *
 * @returns the keys, and the problems.
 */
export async function readSort(text: string, reach: SearchReach): Promise<{ keys: SortKey[]; problems: Problem[] }> {
  const keys: SortKey[] = [];
  const problems: Problem[] = [];
  for (const term of text.split(',').slice(0, maxSortKeys + 1)) {
    const isDescending = term.startsWith('-');
    const found = await resolvePath(isDescending ? term.slice(1) : term, reach);
    if (typeof found === 'string') problems.push({ code: 'unknown_field', problem: `sort: ${found}` });
    else if (isManyValued(found))
      problems.push({ code: 'not_allowed', problem: `sort: ${show(term)} has no single value to sort by` });
    else keys.push({ steps: found.steps, leaf: found.leaf, isDescending });
  }
  if (keys.length > maxSortKeys)
    problems.push({ code: 'max_items', problem: `sort must have at most ${maxSortKeys} fields`, limit: maxSortKeys });
  return { keys, problems };
}

/** The keys of a sort from the configuration, which was checked. */
export function ownSortKeys(text: string, fields: readonly Field[]): SortKey[] {
  return readOwnSort(text, fields).keys.map(({ path, field, isDescending }) => ({
    steps: path.slice(0, -1).map((name) => ({ kind: 'member', name })),
    leaf: leafOf(field, path.length === 1),
    isDescending,
  }));
}

/** Whether a path may lead to several values, or to a value that is not compared. */
export function isManyValued({ steps, leaf }: Pick<FoundPath, 'steps' | 'leaf'>): boolean {
  const hasMany = steps.some((step) => step.kind === 'items' || (step.kind === 'related' && step.isList));
  return hasMany || leaf.kind === 'list' || leaf.kind === 'json';
}
