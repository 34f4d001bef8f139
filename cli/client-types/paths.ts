import { affinityOf, isList, typeFacts } from '../../config/field-types.ts';
import type { Collection, Field } from '../../config/model.ts';
import { isNesting, partsOf, tagFields } from '../../config/nesting.ts';
import { ownFields } from '../../config/sorting.ts';
import { uniqueFields } from '../../events/facts/claims.ts';
import { lineFields } from '../../server/queries/line-fields.ts';

/** A path inside the documents of a collection, and what is to be said of it. */
export type DocumentPath = {
  path: string;
  /** The type of the field at its end. */
  type: Field['type'];
  filter: string;
  /** Whether lists can be sorted by it. */
  sorts: boolean;
  /** The collection it points at. */
  relationTo?: string;
  /** Whether there may be several values at its end. */
  isList: boolean;
};

/**
 * Every path that documents of a collection can be filtered by, as `server/queries/paths.ts` finds them, without paths
 * that go on through relationships. With drafts some of them need `draft`.
 *
 * @param nameOf the name of the options of a field, or of the types of its blocks.
 */
export function pathsOf({ fields, drafts }: Pick<Collection, 'fields' | 'drafts'>, nameOf: NameOf): DocumentPath[] {
  const { toFilter } = lineFields(drafts ? 'editors' : null);
  return pathsIn([...ownFields, ...toFilter, ...fields], { before: '', isInList: false }, nameOf);
}

/**
 * The paths to which some calls are limited: `unique` are those by which `upsertMany` finds documents; `numbers` and
 * `times` lead to single values, of which `aggregate` makes figures; `days` have a year, a month and a day to group by.
 */
export function pathKindsOf(collection: Collection, paths: readonly DocumentPath[]) {
  const pathsIf = (isOfKind: (path: DocumentPath) => boolean) => paths.filter(isOfKind).map(({ path }) => path);
  return {
    unique: uniqueFields(collection.category, collection.schema.fields).map(({ path }) => path.join('.')),
    numbers: pathsIf(({ sorts, type }) => sorts && type === 'number'),
    times: pathsIf(({ sorts, type }) => sorts && typeFacts[type].time !== undefined),
    days: pathsIf(({ type }) => type === 'date' || type === 'datetime'),
  };
}

type NameOf = (field: Field) => string;

/** The place of fields: the path to them, and whether it goes through a list. */
type PathPrefix = { before: string; isInList: boolean };

function pathsIn(fields: readonly Field[], { before, isInList }: PathPrefix, nameOf: NameOf): DocumentPath[] {
  return fields.flatMap((field): DocumentPath[] => {
    if (field.type === 'join') return [];
    const path = before + field.name;
    const inside: PathPrefix = { before: `${path}.`, isInList: isInList || isList(field) };
    const tags = tagFields(field).map((tag) => {
      return {
        path: inside.before + tag.name,
        type: tag.type,
        filter: `TextFilter<${nameOf(field)}Type>`,
        ...inList,
      };
    });
    const below = partsOf(field).flatMap((part) => pathsIn(part.fields, inside, nameOf));
    // Blocks may have fields of one name: the first of them says what a path leads to.
    const found = new Map<string, DocumentPath>();
    for (const one of [...tags, ...below]) if (!found.has(one.path)) found.set(one.path, one);
    return [{ path, type: field.type, ...endOf(field, isInList, nameOf) }, ...found.values()];
  });
}

const inList = { sorts: false, isList: true };

/** The type of a path that ends at a field, by the operators of `server/queries/values.ts`. */
function endOf(field: Field, isInList: boolean, nameOf: NameOf): Omit<DocumentPath, 'path' | 'type'> {
  const { type, options, relationTo, isDocumentId } = field;
  const to = relationTo === undefined ? {} : { relationTo };
  const item = options ? nameOf(field) : 'string';
  if (isList(field) && !isNesting(field)) return { filter: `ListFilter<${item}>`, ...inList, ...to };
  const place = { sorts: !isInList, isList: isInList, ...to };
  switch (affinityOf(field)) {
    case 'REAL':
      return { filter: 'OrderFilter<number>', ...place };
    case 'INTEGER':
      return { filter: 'ValueFilter<boolean>', ...place };
    case 'TEXT':
      if (isDocumentId) return { filter: 'IdFilter', ...place };
      if (typeFacts[type].time) return { filter: 'OrderFilter<string>', ...place };
      return { filter: options ? `TextFilter<${item}>` : 'TextFilter', ...place };
    default:
      return { filter: 'PresenceFilter', ...place, sorts: false };
  }
}
