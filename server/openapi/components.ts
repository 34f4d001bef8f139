import type { Collection, Field, Global, Model } from '../../config/model.ts';
import { accountSchemas, usersSchemas, withPassword } from './account-components.ts';
import { closed, count, described, flag, ignored, listOf, orNull, place, text, time } from './basics.ts';
import { bulkBodies, bulkSchemas } from './bulk-components.ts';
import { conflicts, errorSchema, errorSchemas, fieldErrors, stale, turns } from './error-components.ts';
import { objectOf, type Schema, schemaRef } from './fields.ts';
import { keySchemas } from './key-components.ts';
import { pointingSchemas, trashSchemas } from './pointing-components.ts';
import { blockSchema, fieldSchema, schemasOf } from './schema-components.ts';
import { isUploadCollection, uploadSchemas } from './uploads.ts';
import { webhookSchemas } from './webhook-components.ts';
import { conditionSchemas, whereOf } from './where.ts';

/** Every schema of the document by its name. Names with a dot are made from slugs, so that they meet no other name. */
export function componentsOf(model: Model): Record<string, Schema> {
  const hasAccounts = [...model.collections.values()].some(({ auth }) => auth);
  return {
    ...fixed,
    ...trashSchemas,
    ...keySchemas(model),
    ...webhookSchemas,
    ...(model.collections.size > 0 ? { Count: closed({ count }), Absent: errorSchema(text, turns) } : {}),
    ...bulkSchemas([...model.collections.values()]),
    ...(hasAccounts ? accountSchemas : {}),
    ...(model.collections.size > 0 ? { ...groupSchemas, ...pointingSchemas } : {}),
    Schemas: schemasOf(model, hasAccounts),
    ...Object.assign({}, ...[...model.collections.values()].map((one) => collectionSchemas(model, one))),
    ...Object.assign({}, ...[...model.globals.values()].map(globalSchemas)),
  };
}

function collectionSchemas(model: Model, collection: Collection): Record<string, Schema> {
  const { slug, fields, auth } = collection;
  const name = `collections.${slug}`;
  const made = { id: { type: 'string', format: 'uuid' }, createdAt: time, updatedAt: time };
  const unsent = fields.filter(({ type, isServerMade }) => type === 'join' || isServerMade);
  const unread = unsent.map((field) => [field.name, ignored] as const);
  const own = { id: ignored, createdAt: ignored, updatedAt: ignored, ...Object.fromEntries(unread) };
  const bodyOf = (use: 'create' | 'update') => {
    const body = objectOf(fields, use, own);
    return auth ? withPassword(body) : body;
  };
  return {
    [name]: objectOf(fields, 'answer', made),
    [`${name}.written`]: writtenOf(fields, made),
    ...(isUploadCollection(collection) ? uploadSchemas(collection, own) : { [`${name}.create`]: bodyOf('create') }),
    [`${name}.update`]: bodyOf('update'),
    [`${name}.list`]: envelopeOf(name),
    [`${name}.where`]: whereOf(collection),
    ...bulkBodies(collection),
    ...(auth ? usersSchemas(model, collection, own) : {}),
  };
}

/** The answer to a write. */
function writtenOf(fields: readonly Field[], made: Record<string, Schema>): Schema {
  return {
    ...objectOf(fields, 'answer', made),
    required: Object.keys(made),
    description:
      'The whole, for a caller who may read it; for any other its id, its times and the fields that were sent.',
  };
}

/** Counts are null with `count=none`, and what tells of pages with `after`. */
function envelopeOf(name: string): Schema {
  const always = {
    docs: { type: 'array', items: schemaRef(name) },
    total: orNull(count),
    limit: { ...place, maximum: 100 },
    page: orNull(place),
    totalPages: orNull(count),
    hasNextPage: { type: 'boolean' },
    hasPrevPage: { type: 'boolean' },
    nextPage: orNull(place),
    prevPage: orNull(place),
  };
  const nextCursor = described(orNull(text), 'With `after`: the `after` of the next documents, null at the end.');
  return closed({ ...always, nextCursor }, Object.keys(always));
}

function globalSchemas({ slug, fields }: Global): Record<string, Schema> {
  const name = `globals.${slug}`;
  const unwritten = { ...time, nullable: true };
  const made = { createdAt: unwritten, updatedAt: unwritten };
  const shown = fields.map(beforeItIsWritten);
  return {
    [name]: objectOf(shown, 'answer', made),
    [`${name}.written`]: writtenOf(shown, made),
    [`${name}.update`]: objectOf(fields, 'update', { id: ignored, createdAt: ignored, updatedAt: ignored }),
  };
}

/** A global that was never written answers its defaults: a required field without a default has no value. */
function beforeItIsWritten(field: Field): Field {
  const { required: _, ...rest } = field;
  return field.makeDefault ? field : rest;
}

const whole: Schema = { type: 'integer' };

const dryRun = closed({
  source: closed({ version: whole, position: whole }),
  diff: { type: 'array', items: closed({ field: text, before: {}, after: {} }) },
  dangling: {
    type: 'array',
    description: 'Ids of documents that are gone: they stay as they are.',
    items: closed({ field: text, id: {} }),
  },
  conflicts,
});

/** One of the two. */
const restore: Schema = {
  oneOf: [
    closed({ version: { ...whole, minimum: 1, description: 'The version of the document.' } }),
    closed({
      position: { ...whole, minimum: 1, description: 'The position in the log at which the document was so.' },
    }),
  ],
};

const figures: Schema = { type: 'object', description: 'By path; null where no document has a value.' };

const groupSchemas: Record<string, Schema> = {
  Groups: closed({
    groups: listOf(
      closed(
        {
          key: described({ type: 'object' }, 'The value of each path of `groupBy`; null without one.'),
          count: described(count, 'Documents of the group.'),
          ...Object.fromEntries(['sum', 'min', 'max', 'avg'].map((kind) => [kind, figures])),
        },
        ['key', 'count'],
      ),
    ),
    total: described(count, 'Groups in all.'),
  }),
  Values: closed({
    values: listOf(
      closed({
        value: described({}, 'null for documents without one.'),
        count: described(count, 'Documents that have it.'),
      }),
    ),
    total: described(count, 'Values in all.'),
  }),
};

const fixed: Record<string, Schema> = {
  ...errorSchemas,
  Restore: restore,
  DryRun: dryRun,
  Unrestorable: errorSchema(text, { errors: fieldErrors, conflicts }),
  Stale: { ...errorSchema(text, stale), required: ['statusCode', 'error', 'message', 'version'] },
  Field: fieldSchema,
  Block: blockSchema,
  ...conditionSchemas,
  Found: closed({
    hits: {
      type: 'array',
      items: closed({
        collection: described(text, 'The slug of the collection.'),
        id: text,
        title: text,
        excerpt: described(text, 'HTML: escaped text with `<mark>` around the words.'),
      }),
    },
    total: count,
  }),
  Counts: closed({
    collections: { type: 'object', additionalProperties: closed({ total: count }), description: 'By slug.' },
  }),
  Preview: closed({
    collection: described(text, 'The slug of the collection.'),
    id: described(text, 'The id of a document of it.'),
    data: described({ type: 'object' }, 'The draft, as a form has it: nothing of it is checked.'),
  }),
  Boot: closed({
    title: described(text, 'The title of the admin UI.'),
    initialized: described(
      flag,
      'Whether the admin collection has a user. Without one, its page of setup makes the first.',
    ),
    authCollections: listOf(
      closed({
        slug: text,
        labels: { ...closed({ singular: text, plural: text }), nullable: true },
        isAdmin: described(flag, 'Whether it is the admin collection.'),
        login: described(listOf({ type: 'string', enum: ['password'] }), 'The ways to log in.'),
      }),
    ),
    publicSchema: described(flag, 'Whether `/api/schemas` needs no credential.'),
  }),
  PreviewToken: closed({ token: described(text, 'Shows the draft for 15 minutes, to anyone who has it.') }),
};
