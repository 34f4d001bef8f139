import { affinityOf } from './field-types.ts';
import type { Field } from './model.ts';
import { fieldsOfObject } from './nesting.ts';
import { didYouMean, show, showAll } from './suggest.ts';

/** The fields that the server adds to every document. */
export const ownFields: readonly Field[] = [
  { name: 'id', type: 'text', isDocumentId: true },
  { name: 'createdAt', type: 'datetime' },
  { name: 'updatedAt', type: 'datetime' },
];

/** The maximum number of keys of a sort. */
export const maxSortKeys = 10;

/** A key of a sort by a field of the documents themselves. `path` leads through objects to the field. */
type OwnSortKey = { path: readonly string[]; field: Field; isDescending: boolean };

/**
 * Reads a sort of the configuration, for documents with these fields. Its syntax is that of a request, but no path may
 * lead through a relationship.
 *
 * @returns the valid keys, and the problems of the others.
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

/** The field at the end of a path, or the reason why documents cannot be sorted by it. */
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
    if (field.relationTo) return `${shown} leads through a relationship, which this sort cannot follow`;
    const inside = fieldsOfObject(field);
    if (!inside) return `${shown} leads into ${show(name)}, which is not an object`;
    level = inside;
  }
  return `${shown} has no single value to sort by`;
}
