import { fieldTypeNames } from '../../config/fields.ts';
import type { Model } from '../../config/model.ts';
import { type CollectionAdmin, type GlobalAdmin, richTextFeatures, type ShownField } from '../../config/schema.ts';
import { hasDrafts } from '../../config/traits.ts';
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
import { type ApiSchema, schemaRef } from './fields.ts';

const richTextSchema = closed({ features: listOf(choice(richTextFeatures)) });

const number: Shape<number> = { type: 'number' };

const rightsToField = described(
  closed({ read: flag, create: flag, update: flag }),
  'The rights of the user to the field, in at least some documents. Only with the token of a user.',
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
        queryable: described(
          flag,
          'Whether callers may filter by the stored value although a read hook shows another one.',
        ),
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
          'Whether a missing value gets a default, by a constant or a function. Absent only on `row`.',
        ),
        access: rightsToField,
      } satisfies Record<keyof ShownField, ApiSchema>,
      ['type'],
    ),
    'A field as configured. Options that are not set are absent; `name` is absent only on `row`.',
  ),
);

const fields = listOf(refTo('Field', fieldSchema));

/** The schema of a block of a field there. */
export const blockSchema = closed({ slug: text, label: text, fields }, ['slug', 'fields']);

const description = 'The operations that the user may call, on at least some documents. Only with the token of a user.';
const toDrafts = { readDrafts: flag, publish: flag };
const rights = { read: flag, create: flag, update: flag, delete: flag };
const rightsToGlobal = { read: flag, update: flag };

const drafts = described(
  closed({ validate: flag, publishedAt: orNull(text) }),
  'The options of drafts; absent without drafts. `validate`: a draft must be as valid as a public document. ' +
    '`publishedAt`: the field that gets the time of the first publication.',
);

const uploadSchema = described(
  closed({ maxFileSize: place, mimeTypes: listOf(text) }, ['maxFileSize']),
  'The largest size of a file, in bytes, and its types, like `image/png` or `image/*`; without types, every type is ' +
    'allowed.',
);

const hints = described(anyObject, 'Hints to the admin UI, as configured.');
const collectionHints = ofType<CollectionAdmin>(hints);
const globalHints = ofType<GlobalAdmin>(hints);

/** Only a caller with a credential gets it. */
const aboutCaller = {
  user: closed({
    audit: described(listOf(choice(['headers', 'payloads', 'export'])), 'The audit scopes of the caller.'),
    keys: described(flag, 'Whether the caller manages API keys.'),
    erase: described(flag, 'Whether the caller may erase at least some documents.'),
  }),
  limits: closed({
    body: described(place, 'The largest JSON body, in bytes.'),
    bulkBody: described(place, 'The largest body of a bulk call, in bytes.'),
  }),
  version: described(text, 'The version of the service.'),
  missingIndexes: described(
    listOf(
      closed({
        collection: text,
        field: described(orNull(text), 'The path of the field; null if `admin.searchFields` names no field for `q`.'),
        reads: described(place, 'The number of reads that took long without the index.'),
        slowest: described(count, 'The milliseconds of the slowest of these reads.'),
        lastAt: described(text, 'The time of the last of these reads, ISO 8601.'),
      }),
    ),
    'The indexes whose lack made reads take long. Only for callers who manage API keys, and only if there are any.',
  ),
};

const collection = {
  slug: text,
  category: described(
    text,
    'The first slug of the collection, under which its streams are recorded; a rename does not change it.',
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
const collections = listOf(
  closed({ ...collection, drafts, access: closed({ ...rights, ...toDrafts }, namesOf(rights)) }, namesOf(collection)),
);
const globals = listOf(
  closed(
    { ...global, drafts, access: closed({ ...rightsToGlobal, ...toDrafts }, namesOf(rightsToGlobal)) },
    namesOf(global),
  ),
);
const shownAdmin = closed({ title: text, logo: orNull(text) });

/** The answer of `/api/schemas`. The document describes it more narrowly: see {@link schemasOf}. */
export const everySchemas = closed(
  { collections, globals, admin: orNull(shownAdmin), richText: orNull(richTextSchema), ...aboutCaller },
  ['collections', 'globals', 'admin', 'richText'],
);

/** The answer of `/api/schemas` of a service: only with accounts it holds the rights of the caller. */
export function schemasOf(model: Model, hasAccounts: boolean): ApiSchema {
  const { admin, richText } = model;
  const showsDrafts = hasDrafts(model);
  const members = {
    collections: entries(collection, rights),
    globals: entries(global, rightsToGlobal),
    admin: admin ? closed({ title: text, logo: admin.logo === null ? nothing : text }) : nothing,
    richText: richText ? richTextSchema : nothing,
  };
  return closed({ ...members, ...aboutCaller }, namesOf(members));

  function entries(plain: Entry, operations: Entry): ApiSchema {
    const shown: Entry = { ...operations, ...(showsDrafts ? toDrafts : {}) };
    const access = described(closed(shown, namesOf(operations)), description);
    const entry: Entry = { ...plain, ...(showsDrafts ? { drafts } : {}), ...(hasAccounts ? { access } : {}) };
    return listOf(closed(entry, namesOf(plain)));
  }
}

type Entry = Record<string, ApiSchema>;
