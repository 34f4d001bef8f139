import { fieldTypeNames } from '../../config/fields.ts';
import type { Model } from '../../config/model.ts';
import { type CollectionAdmin, type GlobalAdmin, richTextFeatures, type ShownField } from '../../config/schema.ts';
import {
  anyObject,
  anything,
  choice,
  closed,
  count,
  described,
  either,
  flag,
  isFalse,
  listOf,
  namesOf,
  nothing,
  ofType,
  orNull,
  place,
  refTo,
  type Shape,
  text,
  whole,
} from './basics.ts';
import { type Schema, schemaRef } from './fields.ts';

const richTextSchema = closed({ features: listOf(choice(richTextFeatures)) });

const number: Shape<number> = { type: 'number' };

const rightsToField = described(
  closed({ read: flag, create: flag, update: flag }),
  'The rights of the user to the field, in some documents at least. With a token only.',
);

/** The schema of a field of `/api/schemas`. */
export const fieldSchema = ofType<ShownField>(
  described(
    closed(
      {
        name: text,
        type: choice(fieldTypeNames),
        label: text,
        required: flag,
        unique: flag,
        index: flag,
        queryable: described(flag, 'Whether callers may filter by the stored value where a read hook shows another.'),
        defaultValue: anything,
        options: listOf(closed({ label: text, value: text })),
        relationTo: text,
        hasMany: flag,
        min: number,
        max: number,
        integer: flag,
        minLength: whole,
        maxLength: whole,
        pattern: text,
        fields: listOf(schemaRef('Field')),
        blocks: listOf(schemaRef('Block')),
        collection: text,
        on: text,
        limit: place,
        sort: text,
        richText: richTextSchema,
        renamedFrom: text,
        admin: anyObject,
        hasDefault: described(
          flag,
          'Whether a missing value gets one, by a constant or a function. Absent on `row` only.',
        ),
        access: rightsToField,
      } satisfies Record<keyof ShownField, Schema>,
      ['type'],
    ),
    'A field as it is configured. Options that are not set are absent; `name` is absent on `row` only.',
  ),
);

const fields = listOf(refTo('Field', fieldSchema));

/** The schema of a block of a field there. */
export const blockSchema = closed({ slug: text, label: text, fields }, ['slug', 'fields']);

const description = 'The operations that the user may call, on some documents at least. With a token only.';
const rights = described(closed({ read: flag, create: flag, update: flag, delete: flag }), description);
const rightsOfGlobal = described(closed({ read: flag, update: flag }), description);

const uploadSchema = described(
  closed({ maxFileSize: place, mimeTypes: listOf(text) }, ['maxFileSize']),
  'How large a file may be, in bytes, and of which types like `image/png` or `image/*`: any, where none is named.',
);

const hints = described(anyObject, 'Hints to the admin UI, as they are configured.');
const collectionHints = ofType<CollectionAdmin>(hints);
const globalHints = ofType<GlobalAdmin>(hints);

/** Only a caller with a credential gets it. */
const aboutCaller = {
  user: closed({
    audit: described(
      listOf(choice(['headers', 'payloads', 'export'])),
      'The scopes of the history that the caller has.',
    ),
    keys: described(flag, 'Whether the caller manages API keys.'),
    erase: described(flag, 'Whether the caller may erase, some documents at least.'),
  }),
  limits: closed({
    body: described(place, 'Bytes of a JSON body.'),
    bulkBody: described(place, 'Bytes of one with many documents.'),
  }),
  version: described(text, 'The version of the service.'),
  missingIndexes: described(
    listOf(
      closed({
        collection: text,
        field: described(orNull(text), 'Its path; null where `admin.searchFields` names no field for `q`.'),
        reads: described(place, 'How many reads took long without it.'),
        slowest: described(count, 'The most milliseconds of one.'),
        lastAt: described(text, 'When the last was, ISO 8601.'),
      }),
    ),
    'The indexes that reads were without which took long. Only for those who manage API keys, and if there are any.',
  ),
};

const collection = {
  slug: text,
  category: described(
    text,
    'The slug that the collection began with: its streams are recorded under it, and a rename does not change it.',
  ),
  labels: orNull(closed({ singular: text, plural: text })),
  fields,
  auth: flag,
  upload: either(isFalse, uploadSchema),
  history: either(choice(['public']), nothing),
  requireReason: flag,
  admin: collectionHints,
};
const global = { slug: text, label: orNull(text), fields, admin: globalHints };
const collections = listOf(closed({ ...collection, access: rights }, namesOf(collection)));
const globals = listOf(closed({ ...global, access: rightsOfGlobal }, namesOf(global)));
const shownAdmin = closed({ title: text, logo: orNull(text) });

/** The answer of `/api/schemas`. The document describes it more narrowly: see {@link schemasOf}. */
export const everySchemas = closed(
  { collections, globals, admin: orNull(shownAdmin), richText: orNull(richTextSchema), ...aboutCaller },
  ['collections', 'globals', 'admin', 'richText'],
);

/** The answer of `/api/schemas` of a service: only with accounts it holds the rights of the caller. */
export function schemasOf({ admin, richText }: Model, hasAccounts: boolean): Schema {
  const members = {
    collections: hasAccounts ? collections : listOf(closed(collection)),
    globals: hasAccounts ? globals : listOf(closed(global)),
    admin: admin ? closed({ title: text, logo: admin.logo === null ? nothing : text }) : nothing,
    richText: richText ? richTextSchema : nothing,
  };
  return closed({ ...members, ...aboutCaller }, namesOf(members));
}
