import { fieldTypeNames } from '../../config/fields.ts';
import type { Collection, Field, Global, Model } from '../../config/model.ts';
import { richTextFeatures } from '../../config/schema.ts';
import { accountSchemas, usersSchemas, withPassword } from './account-components.ts';
import { closed, count, described, flag, ignored, listOf, nothing, orNull, place, text, time } from './basics.ts';
import { bulkBodies, bulkSchemas } from './bulk-components.ts';
import { objectOf, type Schema, schemaRef } from './fields.ts';
import { keySchemas } from './key-components.ts';
import { pointingSchemas, trashSchemas } from './pointing-components.ts';
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
    ...(model.collections.size > 0 ? { Count: closed({ count }) } : {}),
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
  const made = fields.filter(({ type, isServerMade }) => type === 'join' || isServerMade);
  const unread = made.map((field) => [field.name, ignored] as const);
  const own = { id: ignored, createdAt: ignored, updatedAt: ignored, ...Object.fromEntries(unread) };
  const bodyOf = (use: 'create' | 'update') => {
    const body = objectOf(fields, use, own);
    return auth ? withPassword(body) : body;
  };
  return {
    [name]: objectOf(fields, 'answer', { id: { type: 'string', format: 'uuid' }, createdAt: time, updatedAt: time }),
    ...(isUploadCollection(collection) ? uploadSchemas(collection, own) : { [`${name}.create`]: bodyOf('create') }),
    [`${name}.update`]: bodyOf('update'),
    [`${name}.list`]: envelopeOf(name),
    [`${name}.where`]: whereOf(collection),
    ...bulkBodies(collection),
    ...(auth ? usersSchemas(model, collection, own) : {}),
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
  return {
    [name]: objectOf(fields.map(beforeItIsWritten), 'answer', { createdAt: unwritten, updatedAt: unwritten }),
    [`${name}.update`]: objectOf(fields, 'update', { id: ignored, createdAt: ignored, updatedAt: ignored }),
  };
}

/** A global that was never written answers its defaults: a required field without a default has no value. */
function beforeItIsWritten(field: Field): Field {
  const { required: _, ...rest } = field;
  return field.makeDefault ? field : rest;
}

const whole: Schema = { type: 'integer' };
const fieldErrors: Schema = {
  type: 'array',
  description:
    'The fields, parameters or headers that are to blame; nested ones by dotted path. The field is empty where it is the body as a whole.',
  items: closed({ field: text, message: text }),
};

function errorSchema(name: Schema, errors: Record<string, Schema> = { errors: fieldErrors }): Schema {
  return closed({ statusCode: whole, error: name, message: text, ...errors }, ['statusCode', 'error', 'message']);
}

const stale = {
  version: { type: 'integer', minimum: 0, description: 'The version that the document is at.' },
  etag: { type: 'string', description: 'Its `ETag`; only if the caller may read it.' },
  fields: {
    type: 'array',
    description: 'The fields that are not as the caller knows them; only if the caller may read the document.',
    items: closed({ field: text, before: {}, current: {} }, ['field', 'current']),
  },
};

const conflicts: Schema = {
  type: 'array',
  description: 'The unique values that others have, with the ids of those that the caller may read.',
  items: closed({ field: text, id: text }, ['field']),
};

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

const richTextSchema = closed({ features: { type: 'array', items: { type: 'string', enum: [...richTextFeatures] } } });

const rightsToField = {
  ...closed({ read: flag, create: flag, update: flag }),
  description: 'The rights of the user to the field, in some documents at least. With a token only.',
};

const fieldSchema: Schema = {
  ...closed(
    {
      name: text,
      type: { type: 'string', enum: fieldTypeNames },
      label: text,
      required: { type: 'boolean' },
      unique: { type: 'boolean' },
      index: { type: 'boolean' },
      defaultValue: {},
      options: { type: 'array', items: closed({ label: text, value: text }) },
      relationTo: text,
      hasMany: { type: 'boolean' },
      min: { type: 'number' },
      max: { type: 'number' },
      integer: { type: 'boolean' },
      minLength: whole,
      maxLength: whole,
      pattern: text,
      fields: { type: 'array', items: schemaRef('Field') },
      blocks: { type: 'array', items: schemaRef('Block') },
      collection: text,
      on: text,
      limit: { ...whole, minimum: 1 },
      sort: text,
      richText: richTextSchema,
      renamedFrom: text,
      admin: { type: 'object' },
      hasDefault: described(
        flag,
        'Whether a missing value gets one, by a constant or a function. Absent on `row` only.',
      ),
      access: rightsToField,
    },
    ['type'],
  ),
  description: 'A field as it is configured. Options that are not set are absent; `name` is absent on `row` only.',
};

const fields: Schema = { type: 'array', items: schemaRef('Field') };

const description = 'The operations that the user may call, on some documents at least. With a token only.';
const rights = { ...closed({ read: flag, create: flag, update: flag, delete: flag }), description };
const rightsOfGlobal = { ...closed({ read: flag, update: flag }), description };

const uploadSchema: Schema = {
  ...closed({ maxFileSize: { ...whole, minimum: 1 }, mimeTypes: { type: 'array', items: text } }, ['maxFileSize']),
  description:
    'How large a file may be, in bytes, and of which types like `image/png` or `image/*`: any, where none is named.',
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

const hints: Schema = { type: 'object', description: 'Hints to the admin UI, as they are configured.' };

/** Only a caller with a credential gets it. */
const aboutCaller = {
  user: closed({
    audit: {
      type: 'array',
      items: { type: 'string', enum: ['headers', 'payloads', 'export'] },
      description: 'The scopes of the history that the caller has.',
    },
    keys: { type: 'boolean', description: 'Whether the caller manages API keys.' },
  }),
  limits: closed({
    body: { ...whole, minimum: 1, description: 'Bytes of a JSON body.' },
    bulkBody: { ...whole, minimum: 1, description: 'Bytes of one with many documents.' },
  }),
  version: described(text, 'The version of the service.'),
};

/** The answer of `/api/schemas`: with accounts, it holds the rights of the caller. */
function schemasOf({ admin, richText }: Model, hasAccounts: boolean): Schema {
  const entries = (members: Record<string, Schema>, access: Schema) => {
    const all = hasAccounts ? { ...members, access } : members;
    return { type: 'array', items: closed(all, Object.keys(members)) };
  };
  const collection = {
    slug: text,
    labels: { ...closed({ singular: text, plural: text }), nullable: true },
    fields,
    auth: flag,
    upload: { oneOf: [{ type: 'boolean', enum: [false] }, uploadSchema] },
    history: { oneOf: [{ type: 'string', enum: ['public'] }, nothing] },
    requireReason: flag,
    admin: hints,
  };
  const global = { slug: text, label: { ...text, nullable: true }, fields, admin: hints };
  const members = {
    collections: entries(collection, rights),
    globals: entries(global, rightsOfGlobal),
    admin: admin ? closed({ title: text, logo: admin.logo === null ? nothing : text }) : nothing,
    richText: richText ? richTextSchema : nothing,
  };
  return closed({ ...members, ...aboutCaller }, Object.keys(members));
}

/** The schemas of refusals. */
export const errorSchemas: Record<string, Schema> = {
  Error: errorSchema(text),
  BadRequest: errorSchema({ type: 'string', enum: ['Bad Request'] }, {}),
  ValidationError: {
    ...errorSchema({ type: 'string', enum: ['Validation Error'] }),
    required: ['statusCode', 'error', 'message', 'errors'],
  },
  Invalid: {
    oneOf: [schemaRef('ValidationError'), schemaRef('BadRequest')],
    discriminator: {
      propertyName: 'error',
      mapping: {
        'Validation Error': '#/components/schemas/ValidationError',
        'Bad Request': '#/components/schemas/BadRequest',
      },
    },
  },
};

const fixed: Record<string, Schema> = {
  ...errorSchemas,
  Restore: restore,
  DryRun: dryRun,
  Unrestorable: errorSchema(text, { errors: fieldErrors, conflicts }),
  Stale: { ...errorSchema(text, stale), required: ['statusCode', 'error', 'message', 'version'] },
  Field: fieldSchema,
  Block: closed({ slug: text, label: text, fields }, ['slug', 'fields']),
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
