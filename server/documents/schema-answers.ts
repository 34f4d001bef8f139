import type { Collection, Field, Global, Model } from '../../config/model.ts';
import { partsOf } from '../../config/nesting.ts';
import {
  type CollectionSchema,
  categoryOf,
  type DraftsSchema,
  type FieldSchema,
  type GlobalSchema,
  type Schema,
  type ShownDrafts,
  type ShownField,
} from '../../config/schema.ts';
import type { FieldRights } from '../access/field-access.ts';

/** The rights of a caller to the fields of a target. */
type Rights = ReadonlyMap<Field, FieldRights>;

/** How fields of a configuration are shown: with the rights of the caller, if these are shown. */
type Showing = { models: readonly Field[]; rights?: Rights };

/** A configuration as `/api/schemas` shows it to every caller. */
export type ShownSchemas = ReturnType<typeof showSchemas>;

/**
 * The collections and globals of a schema, with every member, also those that the configuration leaves out.
 *
 * @param model of today, which knows the defaults that are functions.
 */
export function showSchemas({ collections, globals }: Schema, model: Model) {
  return {
    collections: collections.map((schema) => showCollection(schema, model.collections.get(schema.slug))),
    globals: globals.map((schema) => showGlobal(schema, model.globals.get(schema.slug))),
  };
}

function showCollection(schema: CollectionSchema, model: Collection | undefined) {
  const { slug, labels = null, fields, auth = false, upload = false, history = null, requireReason = false } = schema;
  const shown = showFields(fields, { models: model?.fields ?? [] });
  return {
    slug,
    category: categoryOf(schema),
    labels,
    fields: shown,
    auth,
    upload,
    ...showDrafts(schema),
    history,
    requireReason,
    admin: schema.admin ?? {},
  };
}

function showGlobal(schema: GlobalSchema, model: Global | undefined) {
  const { slug, label = null, fields, admin = {} } = schema;
  return { slug, label, fields: showFields(fields, { models: model?.fields ?? [] }), ...showDrafts(schema), admin };
}

/** The options of drafts, each of them; absent without drafts, so that such answers stay as they were. */
function showDrafts({ drafts }: { drafts?: DraftsSchema }): { drafts?: ShownDrafts } {
  if (!drafts) return {};
  const { validate = false, publishedAt = null } = drafts === true ? {} : drafts;
  return { drafts: { validate, publishedAt } };
}

/** Fields as they are shown; a row has neither a default nor rights: the fields inside it have these. */
export function showFields(fields: readonly FieldSchema[], showing: Showing): ShownField[] {
  return fields.map((field) => showField(field, showing));
}

function showField(field: FieldSchema, showing: Showing): ShownField {
  const { fields, blocks, ...plain } = field;
  // A row only lays out the fields inside it.
  if (field.name === undefined) return { ...plain, fields: showFields(fields ?? [], showing) };
  const model = showing.models.find(({ name }) => name === field.name);
  const access = model && showing.rights?.get(model);
  const parts = model ? partsOf(model) : [];
  const inside = (slug: string | null): Showing => ({
    ...showing,
    models: parts.find((part) => part.slug === slug)?.fields ?? [],
  });
  return {
    ...plain,
    ...(fields ? { fields: showFields(fields, inside(null)) } : {}),
    ...(blocks
      ? { blocks: blocks.map((block) => ({ ...block, fields: showFields(block.fields, inside(block.slug)) })) }
      : {}),
    hasDefault: field.defaultValue !== undefined || model?.makeDefault !== undefined,
    ...(access ? { access } : {}),
  };
}
