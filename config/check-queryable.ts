import type { Collection } from './model.ts';
import { at, type Spot, warn } from './problems.ts';
import { readOwnSort } from './sorting.ts';
import { show } from './suggest.ts';
import { fieldsOn } from './text-fields.ts';
import { queryableFields } from './traits.ts';

const write = 'set queryable: true on it if callers may learn its stored value';

/**
 * Warns of options that need fields by which only trusted code may query, because a read hook may change what other
 * callers see of them.
 */
export function warnOfHookedFields(spot: Spot, collections: readonly Collection[]): void {
  const queryable = new Map(collections.map((collection) => [collection.slug, queryableFields(collection)]));
  for (const { slug, fields, schema } of collections) {
    const own = queryable.get(slug) ?? [];
    const admin = at(at(spot, slug), 'admin');
    for (const path of schema.admin?.searchFields ?? []) {
      if (fieldsOn(own, path.split('.')).length > 0) continue;
      warn(
        at(admin, 'searchFields'),
        `only API keys of the environment find ${show(path)}, which a read hook may change: ${write}`,
      );
    }
    const { defaultSort } = schema.admin ?? {};
    if (defaultSort !== undefined && readOwnSort(defaultSort, own).problems.length > 0) {
      const message = `users may not sort by ${show(defaultSort)}, since a read hook may change what they see of it: ${write}`;
      warn(at(admin, 'defaultSort'), message);
    }
    for (const { name, type, collection = '', on = '' } of fields) {
      const others = queryable.get(collection);
      if (type !== 'join' || !others || others.some((field) => field.name === on)) continue;
      const message = `is empty for users, since a read hook may change what they see of ${show(on)} in ${collection}: ${write}`;
      warn(at(at(at(spot, slug), 'fields'), name), message);
    }
  }
}
