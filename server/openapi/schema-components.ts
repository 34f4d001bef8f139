import { fieldTypeNames } from '../../config/fields.ts';
import type { Model } from '../../config/model.ts';
import { richTextFeatures } from '../../config/schema.ts';
import { closed, described, flag, nothing, text } from './basics.ts';
import { type Schema, schemaRef } from './fields.ts';

const whole: Schema = { type: 'integer' };
const richTextSchema = closed({ features: { type: 'array', items: { type: 'string', enum: [...richTextFeatures] } } });

const rightsToField = {
  ...closed({ read: flag, create: flag, update: flag }),
  description: 'The rights of the user to the field, in some documents at least. With a token only.',
};

/** The schema of a field of `/api/schemas`. */
export const fieldSchema: Schema = {
  ...closed(
    {
      name: text,
      type: { type: 'string', enum: fieldTypeNames },
      label: text,
      required: { type: 'boolean' },
      unique: { type: 'boolean' },
      index: { type: 'boolean' },
      queryable: described(flag, 'Whether callers may filter by the stored value where a read hook shows another.'),
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

/** The schema of a block of a field there. */
export const blockSchema: Schema = closed({ slug: text, label: text, fields }, ['slug', 'fields']);

const description = 'The operations that the user may call, on some documents at least. With a token only.';
const rights = { ...closed({ read: flag, create: flag, update: flag, delete: flag }), description };
const rightsOfGlobal = { ...closed({ read: flag, update: flag }), description };

const uploadSchema: Schema = {
  ...closed({ maxFileSize: { ...whole, minimum: 1 }, mimeTypes: { type: 'array', items: text } }, ['maxFileSize']),
  description:
    'How large a file may be, in bytes, and of which types like `image/png` or `image/*`: any, where none is named.',
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
    erase: { type: 'boolean', description: 'Whether the caller may erase, some documents at least.' },
  }),
  limits: closed({
    body: { ...whole, minimum: 1, description: 'Bytes of a JSON body.' },
    bulkBody: { ...whole, minimum: 1, description: 'Bytes of one with many documents.' },
  }),
  version: described(text, 'The version of the service.'),
  missingIndexes: {
    type: 'array',
    items: closed({
      collection: text,
      field: {
        ...text,
        nullable: true,
        description: 'Its path; null where `admin.searchFields` names no field for `q`.',
      },
      reads: { ...whole, minimum: 1, description: 'How many reads took long without it.' },
      slowest: { ...whole, minimum: 0, description: 'The most milliseconds of one.' },
      lastAt: described(text, 'When the last was, ISO 8601.'),
    }),
    description:
      'The indexes that reads were without which took long. Only for those who manage API keys, and if there are any.',
  } satisfies Schema,
};

/** The answer of `/api/schemas`: with accounts, it holds the rights of the caller. */
export function schemasOf({ admin, richText }: Model, hasAccounts: boolean): Schema {
  const entries = (members: Record<string, Schema>, access: Schema) => {
    const all = hasAccounts ? { ...members, access } : members;
    return { type: 'array', items: closed(all, Object.keys(members)) };
  };
  const collection = {
    slug: text,
    category: described(
      text,
      'The slug that the collection began with: its streams are recorded under it, and a rename does not change it.',
    ),
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
