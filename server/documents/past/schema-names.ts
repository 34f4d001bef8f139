import { type CollectionSchema, categoryOf, type FieldSchema, type Schema } from '../../../config/schema.ts';
import type { CollectionNames } from '../../../events/service-events/categories.ts';

/** An earlier schema with the slugs of today: by these collections are read, also with `asOf`. */
export function withNamesOfToday(schema: Schema, names: CollectionNames): Schema {
  // A collection that never had a document may have lost its slug to another one since.
  const living = schema.collections.filter(
    (one) => names.categoryFor(names.slugFor(categoryOf(one))) === categoryOf(one),
  );
  const today = new Map(living.map((one) => [one.slug, names.slugFor(categoryOf(one))]));
  const isSame = living.length === schema.collections.length && [...today].every(([then, now]) => then === now);
  if (isSame) return schema;
  const fieldsOf = (fields: readonly FieldSchema[]) => fields.map(fieldOf);

  function fieldOf(field: FieldSchema): FieldSchema {
    const { relationTo, collection, fields, blocks } = field;
    return {
      ...field,
      ...(relationTo === undefined ? {} : { relationTo: today.get(relationTo) ?? relationTo }),
      ...(collection === undefined ? {} : { collection: today.get(collection) ?? collection }),
      ...(fields ? { fields: fieldsOf(fields) } : {}),
      ...(blocks ? { blocks: blocks.map((block) => ({ ...block, fields: fieldsOf(block.fields) })) } : {}),
    };
  }

  function collectionOf(one: CollectionSchema): CollectionSchema {
    return { ...one, category: categoryOf(one), slug: today.get(one.slug) ?? one.slug, fields: fieldsOf(one.fields) };
  }

  return {
    collections: living.map(collectionOf),
    globals: schema.globals.map((one) => ({ ...one, fields: fieldsOf(one.fields) })),
  };
}
