import { affinityOf } from './field-types.ts';
import type { Field } from './model.ts';
import { fieldsOfObject } from './nesting.ts';
import { didYouMean, show, showAll } from './suggest.ts';

/** The server's own fields of every document, as fields. */
export const ownFields: readonly Field[] = [
  { name: 'id', type: 'text', isDocumentId: true },
  { name: 'createdAt', type: 'datetime' },
  { name: 'updatedAt', type: 'datetime' },
];

/** How many keys a sort may have. */
export const maxSortKeys = 10;

/** A key of a sort by what documents hold themselves: the names that lead through objects to a field. */
type OwnSortKey = { path: readonly string[]; field: Field; isDescending: boolean };

/**
 * Reads a sort that an author has configured for documents of these fields: as in a request, but not through
 * relationships.
 *
 * @returns the keys, and what is wrong with them.
 */
export function readOwnSort(text: string, fields: readonly Field[]): { keys: OwnSortKey[]; problems: string[] } {
  const keys: OwnSortKey[] = [];
  const problems: string[] = [];
  const terms = text.split(',');
  for (const term of terms.slice(0, maxSortKeys)) {
    const isDescending = term.startsWith('-');
    const path = (isDescending ? term.slice(1) : term).split('.');
    const found = follow(path, [...ownFields, ...fields]);
    if (typeof found === 'string') problems.push(found);
    else keys.push({ path, field: found, isDescending });
  }
  if (terms.length > maxSortKeys) problems.push(`must have at most ${maxSortKeys} fields, got ${terms.length}`);
  return { keys, problems };
}

/** The field at the end of a path, or the reason why it cannot be sorted by. */
function follow(path: readonly string[], fields: readonly Field[]): Field | string {
  const shown = show(path.join('.'));
  let level: readonly Field[] = fields;
  for (const [index, name] of path.entries()) {
    const field = level.find((one) => one.name === name);
    if (!field) {
      const names = level
        .filter((one) => fieldsOfObject(one) !== null || affinityOf(one) !== null)
        .map((one) => one.name);
      const where = index === 0 ? '' : ` of ${show(path.slice(0, index).join('.'))}`;
      return `${show(name)} is not a field${where} to sort by${didYouMean(name, names)}; allowed: ${showAll(names)}`;
    }
    if (index === path.length - 1) return affinityOf(field) ? field : `${shown} has no single value to sort by`;
    if (field.relationTo) return `${shown} goes through a relationship, which the sort of a join cannot`;
    const inside = fieldsOfObject(field);
    if (!inside) return `${shown} leads into ${show(name)}, which is not an object`;
    level = inside;
  }
  return `${shown} has no single value to sort by`;
}
