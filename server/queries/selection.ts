import type { Problem } from '../../config/errors.ts';
import type { Field } from '../../config/model.ts';
import { fieldsInside, isNesting, mapObjects, tagFields } from '../../config/nesting.ts';
import type { Json, JsonObject } from '../../config/schema.ts';
import { ownFields } from '../../config/sorting.ts';
import { maxHops, unknownField } from './paths.ts';

/**
 * The selected members of a document or object, each with the selected members inside it. `isWhole`: all members are
 * selected, and `members` has only those with a selection inside.
 */
export type Selection = { isWhole: boolean; members: ReadonlyMap<string, Selection> };

/** How documents are shown: the levels of related documents, and the selected members; null: all members. */
export type View = { depth: number; select: Selection | null };

/** All members, relations as ids. */
export const whole: Selection = { isWhole: true, members: new Map() };

/** The part of a target that a caller may select from. */
export type Selectable = {
  /** False for a global, which has no id. */
  hasId: boolean;
  /** The fields that the caller may read in some document. */
  fields: readonly Field[];
  /** The same of another collection; null if the caller may see nothing of it. */
  related: (slug: string) => Promise<Selectable | null>;
};

const maxPaths = 100;
const purpose = 'to select';

/**
 * Reads a `select`: paths of fields, separated by commas, through objects, lists, relationships and joins.
 *
 * @returns what is selected, and the problems. Each name in a collection of which the caller may see nothing is an
 * unknown field, so that no caller learns its fields.
 */
export async function readSelect(
  text: string,
  from: Selectable,
): Promise<{ selection: Selection; problems: Problem[] }> {
  const paths = text.split(',');
  if (paths.length > maxPaths) {
    const problem = `select must have at most ${maxPaths} paths`;
    return { selection: whole, problems: [{ code: 'max_items', problem, limit: maxPaths }] };
  }
  const problems: Problem[] = [];
  const root = node();
  for (const path of paths) {
    const names = path.split('.');
    const problem = await problemOf(names, { ...levelOf(from), before: [], hops: 0 });
    if (problem === null) add(root, names);
    else problems.push({ code: 'unknown_field', problem: `select: ${problem}` });
  }
  return { selection: root, problems };
}

type Node = { isWhole: boolean; members: Map<string, Node> };

function node(): Node {
  return { isWhole: false, members: new Map() };
}

function add(root: Node, names: readonly string[]): void {
  let at = root;
  for (const name of names) {
    const inside = at.members.get(name) ?? node();
    at.members.set(name, inside);
    at = inside;
  }
  at.isWhole = true;
}

/** The fields that a path can go on to; of blocks the fields of each. */
type Level = { fields: readonly Field[]; from: Selectable; before: readonly string[]; hops: number };

/** The reason why a path leads nowhere; null if it leads to a field. */
async function problemOf([name = '', ...rest]: readonly string[], level: Level): Promise<string | null> {
  const fields = level.fields.filter((field) => field.name === name);
  if (fields.length === 0) return unknownField(level.before, name, { fields: level.fields, purpose });
  if (rest.length === 0) return null;
  const before = [...level.before, name];
  let problem: string | null = null;
  for (const field of fields) {
    const found = await problemInside(field, rest, { ...level, before });
    if (found === null) return null;
    problem ??= found;
  }
  return problem;
}

async function problemInside(field: Field, rest: readonly string[], level: Level): Promise<string | null> {
  const slug = targetOf(field);
  if (slug !== undefined) {
    if (level.hops === maxHops) return `must not go through more than ${maxHops} relationships`;
    const from = await level.from.related(slug);
    if (!from) return unknownField(level.before, rest[0] ?? '', { fields: [], purpose });
    return problemOf(rest, { ...level, ...levelOf(from), hops: level.hops + 1 });
  }
  const fields = isNesting(field) ? [...tagFields(field), ...fieldsInside(field)] : [];
  return problemOf(rest, { ...level, fields });
}

function levelOf(from: Selectable): Pick<Level, 'fields' | 'from'> {
  const own = from.hasId ? ownFields : ownFields.filter(({ isDocumentId }) => !isDocumentId);
  return { fields: [...own, ...from.fields], from };
}

/** The collection that a field refers to. */
export function targetOf({ relationTo, collection }: Field): string | undefined {
  return relationTo ?? collection;
}

/** The selection inside a member; null if the member is not selected. */
export function insideOf({ isWhole, members }: Selection, name: string): Selection | null {
  const inside = members.get(name);
  if (!isWhole) return inside ?? null;
  return inside ? { isWhole, members: inside.members } : whole;
}

/** A document with the selected members only, and its id. Relations are left as they are. */
export function selectedIn(fields: readonly Field[], document: JsonObject, selection: Selection): JsonObject {
  return selectedOf(fields, document, { selection, kept: 'id' });
}

/** @param kept the member that always stays: it names the document or the block. */
function selectedOf(
  fields: readonly Field[],
  values: JsonObject,
  { selection, kept }: { selection: Selection; kept: string },
): JsonObject {
  const { isWhole, members } = selection;
  if (isWhole) return { ...values };
  const result = pick(values, (name) => name === kept || members.has(name));
  for (const field of fields) {
    const inside = members.get(field.name);
    if (!inside || inside.isWhole || targetOf(field) !== undefined) continue;
    const value = Object.hasOwn(result, field.name) ? result[field.name] : null;
    if (value === null || value === undefined) continue;
    result[field.name] = selectedInside(field, value, inside);
  }
  return result;
}

function selectedInside(field: Field, value: Json, selection: Selection): Json {
  return mapObjects(field, value, (one) => selectedOf(one.fields, one.values, { selection, kept: 'blockType' }));
}

function pick(values: JsonObject, isWanted: (name: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([name]) => isWanted(name)));
}
