import { affinityOf } from '../../../config/columns.ts';
import type { Field } from '../../../config/model.ts';
import { ownFields } from '../../../config/sorting.ts';

/** A path inside the documents of a collection, and what is to be said of it. */
export type Path = {
  path: string;
  filter: string;
  /** Whether lists can be sorted by it. */
  sorts: boolean;
  /** The collection it points at. */
  relationTo?: string;
  /** Whether there may be several values at its end. */
  isList: boolean;
};

/**
 * Every path that documents of these fields can be filtered by, as `server/queries/paths.ts` finds them, but for those that go on
 * through relationships.
 *
 * @param nameOf the name of the options of a field, or of the types of its blocks.
 */
export function pathsOf(fields: readonly Field[], nameOf: (field: Field) => string): Path[] {
  return pathsIn([...ownFields, ...fields], '', false, nameOf);
}

function pathsIn(
  fields: readonly Field[],
  before: string,
  isInList: boolean,
  nameOf: (field: Field) => string,
): Path[] {
  return fields.flatMap((field): Path[] => {
    if (field.type === 'join') return [];
    const path = before + field.name;
    const inside = `${path}.`;
    const own: Path = { path, ...endOf(field, isInList, nameOf) };
    if (field.type === 'blocks') return [own, ...pathsInBlocks(field, inside, nameOf)];
    return [own, ...pathsIn(field.fields ?? [], inside, isInList || field.type === 'array', nameOf)];
  });
}

/** Blocks may have fields of one name: the first of them says what a path leads to. */
function pathsInBlocks(field: Field, inside: string, nameOf: (field: Field) => string): Path[] {
  const blockType: Path = { path: `${inside}blockType`, filter: `TextFilter<${nameOf(field)}Type>`, ...inList };
  const found = new Map([[blockType.path, blockType]]);
  for (const block of field.blocks ?? []) {
    for (const one of pathsIn(block.fields, inside, true, nameOf)) if (!found.has(one.path)) found.set(one.path, one);
  }
  return [...found.values()];
}

const inList = { sorts: false, isList: true };

/** What a path that ends at a field is, by the operators of `server/queries/values.ts`. */
function endOf(field: Field, isInList: boolean, nameOf: (field: Field) => string): Omit<Path, 'path'> {
  const { type, options, relationTo, isDocumentId } = field;
  const to = relationTo === undefined ? {} : { relationTo };
  const item = options ? nameOf(field) : 'string';
  if (type === 'multiSelect' || field.hasMany) return { filter: `ListFilter<${item}>`, ...inList, ...to };
  const place = { sorts: !isInList, isList: isInList, ...to };
  switch (affinityOf(field)) {
    case 'REAL':
      return { filter: 'OrderFilter<number>', ...place };
    case 'INTEGER':
      return { filter: 'ValueFilter<boolean>', ...place };
    case 'TEXT':
      if (isDocumentId) return { filter: 'IdFilter', ...place };
      if (['date', 'datetime', 'time'].includes(type)) return { filter: 'OrderFilter<string>', ...place };
      return { filter: options ? `TextFilter<${item}>` : 'TextFilter', ...place };
    default:
      return { filter: 'PresenceFilter', ...place, sorts: false };
  }
}
