import { isList } from '../../../config/field-types.ts';
import type { Field } from '../../../config/model.ts';
import { isNesting, partsOf } from '../../../config/nesting.ts';
import type { Step, Where } from '../../../projections/query/where.ts';
import { filterableFields, queryableBy, rightsToFields } from '../../access/field-access.ts';
import type { Call, Target } from '../../app.ts';
import { leafOf } from '../../queries/paths.ts';

/**
 * A path of fields by which documents point at one of a collection, without the places in lists, and the condition that
 * a document does so. `isOpen`: the caller may read it whatever the document.
 */
export type Pointer = { path: string; where: Where; isOpen: boolean };

/** A way to a field: `key` tells the blocks on it apart, which `path` does not. */
type Way = { path: string; key: string; where: Where };

/**
 * The paths of a target by which the caller may see that its documents point at one: those that may be read in some
 * document, and that no hook hides.
 */
export async function pointersOf(call: Call, to: { slug: string; id: string }): Promise<Pointer[]> {
  const { fields } = call.target.model;
  if (!hasPointer(fields, to.slug)) return [];
  const rights = await rightsToFields(call);
  const queryable = new Set(waysIn(queryableBy(call), to, () => true).map(({ key }) => key));
  const readable = waysIn(fields, to, (field) => rights.get(field)?.read === true);
  const ways = readable.filter(({ key }) => queryable.has(key));
  const open = new Set(waysIn(await filterableFields(call), to, () => true).map(({ key }) => key));
  return [...Map.groupBy(ways, ({ path }) => path)].map(([path, all]) => ({
    path,
    where: { or: all.map(({ where }) => where) },
    isOpen: all.every(({ key }) => open.has(key)),
  }));
}

/** Whether a document of a target can point at one of a collection. */
export function pointsAt({ model }: Target, slug: string): boolean {
  return hasPointer(model.fields, slug);
}

function hasPointer(fields: readonly Field[], slug: string): boolean {
  return fields.some((field) => {
    return field.relationTo === slug || partsOf(field).some((part) => hasPointer(part.fields, slug));
  });
}

type Start = Omit<Way, 'where'> & { steps: readonly Step[] };

const top: Start = { path: '', key: '', steps: [] };

function waysIn(
  fields: readonly Field[],
  to: { slug: string; id: string },
  may: (field: Field) => boolean,
  start: Start = top,
): Way[] {
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
      const step: Step = isList(field)
        ? { kind: 'items', name, blockTypes: slug === null ? null : [slug] }
        : { kind: 'member', name };
      // No name has a colon.
      const before = { path: `${path}.`, key: `${key}:${slug ?? ''}.`, steps: [...start.steps, step] };
      return waysIn(inside, to, may, before);
    });
  });
}
