import { isList } from '../../../config/field-types.ts';
import type { Field } from '../../../config/model.ts';
import { isNesting, partsOf } from '../../../config/nesting.ts';
import type { PathStep, Where } from '../../../projections/query/where.ts';
import { filterableFields, queryableBy, rightsToFields } from '../../access/field-access.ts';
import type { Call, Target } from '../../app.ts';
import { leafOf } from '../../queries/paths.ts';

/**
 * A path of fields, without list indexes, by which documents may refer to a document, and the condition that a document
 * does. `isOpen`: the caller may read the path in every document.
 */
export type Pointer = { path: string; where: Where; isOpen: boolean };

/** A path to a field: `key` also names the blocks on the way, which `path` does not. */
type Way = { path: string; key: string; where: Where };

/**
 * The paths by which the caller may see that documents of a target refer to a document: readable in some document, and
 * not hidden by a hook.
 */
export async function pointersOf(call: Call, to: { slug: string; id: string }): Promise<Pointer[]> {
  const { fields } = call.target.model;
  if (!hasPointer(fields, to.slug)) return [];
  const rights = await rightsToFields(call);
  const queryable = new Set(waysIn(queryableBy(call), { to, may: () => true }).map(({ key }) => key));
  const readable = waysIn(fields, { to, may: (field) => rights.get(field)?.read === true });
  const ways = readable.filter(({ key }) => queryable.has(key));
  const open = new Set(waysIn(await filterableFields(call), { to, may: () => true }).map(({ key }) => key));
  return [...Map.groupBy(ways, ({ path }) => path)].map(([path, all]) => ({
    path,
    where: { or: all.map(({ where }) => where) },
    isOpen: all.every(({ key }) => open.has(key)),
  }));
}

/** Whether a document of a target can refer to a document of a collection. */
export function pointsAt({ model }: Target, slug: string): boolean {
  return hasPointer(model.fields, slug);
}

function hasPointer(fields: readonly Field[], slug: string): boolean {
  return fields.some((field) => {
    return field.relationTo === slug || partsOf(field).some((part) => hasPointer(part.fields, slug));
  });
}

type Start = Omit<Way, 'where'> & { steps: readonly PathStep[] };

const top: Start = { path: '', key: '', steps: [] };

/** The document that pointers must refer to, and the fields to look at. */
type Search = { to: { slug: string; id: string }; may: (field: Field) => boolean };

function waysIn(fields: readonly Field[], search: Search, start: Start = top): Way[] {
  const { to, may } = search;
  return fields.filter(may).flatMap((field) => {
    const { name } = field;
    const path = start.path + name;
    const key = start.key + name;
    if (field.relationTo === to.slug) {
      const operator = isList(field) ? 'contains' : 'equals';
      const where: Where = { steps: start.steps, leaf: leafOf(field, false), operator, values: [to.id] };
      return [{ path, key, where }];
    }
    if (!isNesting(field)) return [];
    return partsOf(field).flatMap(({ slug, fields: inside }) => {
      const step: PathStep = isList(field)
        ? { kind: 'items', name, blockTypes: slug === null ? null : [slug] }
        : { kind: 'member', name };
      // No name has a colon.
      const before = { path: `${path}.`, key: `${key}:${slug ?? ''}.`, steps: [...start.steps, step] };
      return waysIn(inside, search, before);
    });
  });
}
