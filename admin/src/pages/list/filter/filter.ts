/** A condition of a request, as `where` takes it (docs/filtering.md). */
export type Where = { [member: string]: unknown };

/** One condition on one path, which a chip shows. */
export type Condition = { path: string; operator: string; value: unknown };

/** A part of a filter that is more than one condition: it stays as it is, and is shown as text. */
type KeptPart = { kept: Where };

/** A condition that the panel can show, or a part of a filter that stays as it is. */
export type Item = Condition | KeptPart;

/** Conditions of which all must hold, or any. */
export type Filter = { joint: 'all' | 'any'; items: Item[] };

const noFilter: Filter = { joint: 'all', items: [] };

/** Whether an item is a part that the panel cannot show. */
export function isKept(item: Item): item is KeptPart {
  return 'kept' in item;
}

function isObject(value: unknown): value is Where {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Splits a condition into the chips of a filter. A part that a chip cannot show stays as it is. */
export function filterOf(where: Where | null): Filter {
  if (where === null) return noFilter;
  const members = Object.entries(where);
  const [only] = members;
  if (members.length === 1 && only?.[0] === 'or' && isListOfObjects(only[1])) {
    return { joint: 'any', items: only[1].map(itemOf) };
  }
  return { joint: 'all', items: members.flatMap(itemsOf) };
}

function isListOfObjects(value: unknown): value is Where[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject);
}

function itemsOf([path, conditions]: [string, unknown]): Item[] {
  if (path === 'and' && isListOfObjects(conditions)) return conditions.map(itemOf);
  const isOne = path !== 'and' && path !== 'or' && isObject(conditions) && Object.keys(conditions).length > 0;
  if (!isOne) return [{ kept: Object.fromEntries([[path, conditions]]) }];
  return Object.entries(conditions).map(([operator, value]) => ({ path, operator, value }));
}

/** The chip of an object with one condition; any other object stays as it is. */
export function itemOf(where: Where): Item {
  const members = Object.entries(where);
  const items = members.length === 1 && members[0]?.[0] !== 'and' ? members.flatMap(itemsOf) : [];
  return items.length === 1 && items[0] !== undefined ? items[0] : { kept: where };
}

function whereOfItem(item: Item): Where {
  if (isKept(item)) return item.kept;
  return Object.fromEntries([[item.path, Object.fromEntries([[item.operator, item.value]])]]);
}

/** The condition of a filter; null if all documents match. */
export function whereOf({ joint, items }: Filter): Where | null {
  if (items.length === 0) return null;
  const parts = items.map(whereOfItem);
  if (joint === 'any') return { or: parts };
  const names = parts.flatMap(Object.keys);
  const isPlain = items.every((item) => !isKept(item)) && new Set(names).size === names.length;
  return isPlain ? Object.fromEntries(parts.flatMap(Object.entries)) : { and: parts };
}

/** The filter of an address: the condition, or the text if it is not a condition. */
export type AddressFilter = { where: Where | null; broken: string | null };

/** Reads the text of a condition, as JSON. */
export function readWhere(text: string | null): AddressFilter {
  if (text === null || text.trim() === '') return { where: null, broken: null };
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return { where: Object.keys(value).length === 0 ? null : value, broken: null };
  } catch {
    // `broken` shows the text as it is.
  }
  return { where: null, broken: text };
}

/** The path of an item of a filter, with which errors of the service begin. */
export function spotOf(filter: Filter, index: number): string {
  const where = whereOf(filter);
  const item = filter.items[index];
  if (where === null || item === undefined) return 'where';
  if (filter.joint === 'any') return `where[or][${index}]`;
  if (filter.items.length > 1 && Array.isArray(where.and)) return `where[and][${index}]`;
  return isKept(item) ? 'where' : `where[${item.path}]`;
}

/** The message of the service about an item of a filter; null without a message. */
export function problemOf(
  filter: Filter,
  index: number,
  errors: readonly { field: string; message: string }[],
): string | null {
  const spot = spotOf(filter, index);
  const problem = errors.find(({ field }) => field === spot || field.startsWith(`${spot}[`));
  return problem?.message.replace(`${problem.field}: `, '') ?? null;
}
