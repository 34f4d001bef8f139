import { relaxed } from '../../config/draft-fields.ts';
import type { Collection, Field, Global, Model } from '../../config/model.ts';
import type { Json } from '../../config/schema.ts';
import { pageLimits } from '../queries/limits.ts';
import { accountSchemas, usersSchemas, withPassword } from './account-components.ts';
import {
  anyObject,
  anything,
  both,
  choice,
  closed,
  count,
  described,
  either,
  flag,
  listOf,
  mapOf,
  open,
  orNull,
  place,
  refTo,
  type Shape,
  text,
  time,
  uuid,
  type ValueOf,
  whole,
  withKeywords,
} from './basics.ts';
import { batchSchemas } from './batch-components.ts';
import { type bulkAnswers, bulkBodies, type bulkLineAnswers, bulkSchemas } from './bulk-components.ts';
import { absent, conflicts, errorSchema, errorSchemas, fieldErrors, stale } from './error-components.ts';
import { documentExample, globalExample } from './examples.ts';
import { type ApiSchema, anyJson, ignored, objectOf, schemaRef } from './fields.ts';
import { keyBodies, keySchemasOf } from './key-components.ts';
import { pointingSchemas, trashSchemas } from './pointing-components.ts';
import { releaseBodies, releaseSchemas } from './release-components.ts';
import { type reviewAnswers, reviewSchemas } from './review-components.ts';
import { blockSchema, type everySchemas, fieldSchema, schemasOf } from './schema-components.ts';
import { isUploadCollection, uploadSchemas } from './uploads.ts';
import { webhookSchemas } from './webhook-components.ts';
import { conditionSchemas, whereOf } from './where.ts';

/** Every schema of the document by its name. Names with a dot are made from slugs, so that they meet no other name. */
export function componentsOf(model: Model): Record<string, ApiSchema> {
  const hasAccounts = [...model.collections.values()].some(({ auth }) => auth);
  return {
    ...fixed,
    ...trashSchemas,
    ...reviewSchemas(model),
    ...keySchemasOf(model),
    ...keyBodies(model),
    ...webhookSchemas,
    ...(hasDrafts(model) ? { ...publishSchemas, ...releaseSchemas, ...releaseBodies } : tokenSchemas),
    ...(model.collections.size + model.globals.size > 0 ? ofBodies : {}),
    ...(model.collections.size > 0 ? { ...countSchemas, Page: page } : {}),
    ...bulkSchemas([...model.collections.values()]),
    ...batchSchemas,
    ...(hasAccounts ? accountSchemas : {}),
    ...(model.collections.size > 0 ? { ...groupSchemas, ...pointingSchemas } : {}),
    Schemas: schemasOf(model, hasAccounts),
    ...Object.assign({}, ...[...model.collections.values()].map((one) => collectionSchemas(model, one))),
    ...Object.assign({}, ...[...model.globals.values()].map(globalSchemas)),
  };
}

function collectionSchemas(model: Model, collection: Collection): Record<string, ApiSchema> {
  const { slug, fields, auth } = collection;
  const name = `collections.${slug}`;
  const made = { id: uuid, createdAt: time, updatedAt: time };
  const unsent = fields.filter(({ type, isServerMade }) => type === 'join' || isServerMade);
  const unread = unsent.map((field) => [field.name, ignored] as const);
  const own = { id: ignored, createdAt: ignored, updatedAt: ignored, ...Object.fromEntries(unread) };
  const bodyOf = (use: 'create' | 'update') => {
    const body = bodyOrDraft(collection, use, own);
    return auth ? withPassword(body) : body;
  };
  return {
    [name]: withExample(answered(fields, { ...made, ...lineMembersOf(collection) }), documentExample(collection)),
    ...(isUploadCollection(collection) ? uploadSchemas(collection, own) : { [`${name}.create`]: bodyOf('create') }),
    [`${name}.update`]: bodyOf('update'),
    [`${name}.list`]: listSchema(schemaRef(name)),
    [`${name}.where`]: whereOf(collection),
    ...draftSchemas(collection, { made, own }),
    ...bulkBodies(collection),
    ...(auth ? usersSchemas(model, collection, own) : {}),
  };
}

/** The members that say how a document is published: with `draft=true`, or if they are selected. */
function lineMembersOf({ drafts }: Pick<Collection, 'drafts'>): Record<string, ApiSchema> {
  if (!drafts) return {};
  return {
    __status: described(
      choice(['published', 'changed', 'draft']),
      'With `draft=true`: whether the document is public as it is, public in another state, or not public.',
    ),
    __publishedAt: described(orNull(time), 'When the document became public; null if it is not public.'),
    __review: described(orNull(choice(['open', 'refused'])), 'With `draft=true`: the request for review.'),
    __editors: described(
      listOf(text),
      'With `draft=true` and the audit scope `headers`: who changed what is not public.',
    ),
  };
}

/** A document as reads and writes answer it. Only its id is always there. */
function answered(fields: readonly Field[], made: Record<string, ApiSchema>): ApiSchema {
  const { required: _, ...rest } = objectOf(fields, 'answer', made);
  return { ...rest, ...(made.id ? { required: ['id'] } : {}) };
}

/** With an example, if there is one. */
function withExample(schema: ApiSchema, example: Json | undefined): ApiSchema {
  return example === undefined ? schema : { ...schema, example };
}

/** The place of a list among the documents. With `count=none` the counts are null, with `next` the pages. */
const page = open(
  {
    total: withKeywords(orNull(count), { example: 1 }),
    limit: withKeywords(place, { maximum: pageLimits.most, example: 10 }),
    page: withKeywords(orNull(place), { example: 1 }),
    totalPages: withKeywords(orNull(count), { example: 1 }),
    hasNextPage: withKeywords(flag, { example: false }),
    hasPrevPage: withKeywords(flag, { example: false }),
    nextPage: withKeywords(orNull(place), { example: null }),
    prevPage: withKeywords(orNull(place), { example: null }),
  },
  {
    next: withKeywords(described(orNull(text), 'With `next`: the `next` of the next page; null at the end.'), {
      example: null,
    }),
  },
);

/** The list of a collection. */
export function listSchema<T>(document: Shape<T>) {
  return both(open({ docs: listOf(document) }), refTo('Page', page));
}

/** The body of a write; where there are drafts, that of a draft too, which may lack values. */
function bodyOrDraft(
  { fields, drafts }: Collection | Global,
  use: 'create' | 'update',
  own: Record<string, ApiSchema>,
): ApiSchema {
  const body = objectOf(fields, use, own);
  if (!drafts || drafts.validates) return body;
  return { anyOf: [body, { ...objectOf(relaxed(fields), use, own), description: 'With `draft=true`.' }] };
}

/**
 * The schemas of drafts, which may lack values: as they are answered, and as they are sent; and of a publication.
 */
function draftSchemas(
  target: Collection | Global,
  { made, own }: { made: Record<string, ApiSchema>; own: Record<string, ApiSchema> },
): Record<string, ApiSchema> {
  const { drafts, kind, slug } = target;
  if (!drafts) return {};
  const name = `${kind}s.${slug}`;
  const fields = drafts.validates ? target.fields : relaxed(target.fields);
  const values = objectOf(fields, 'update', own);
  return {
    [`${name}.draft`]: answered(kind === 'global' ? target.fields.map(beforeItIsWritten) : fields, made),
    [`${name}.publish`]: objectWith({
      data: { ...values, description: 'Values that are saved in the draft first.' },
      version: described(place, 'Publishes the draft of this version. Not together with `data`.'),
      ...planMembers,
    }),
  };
}

function objectWith(properties: Record<string, ApiSchema>): ApiSchema {
  return { type: 'object', properties, additionalProperties: false };
}

function globalSchemas(target: Global): Record<string, ApiSchema> {
  const { slug, fields } = target;
  const own = { id: ignored, createdAt: ignored, updatedAt: ignored };
  const name = `globals.${slug}`;
  const unwritten = orNull(time);
  const made = { createdAt: unwritten, updatedAt: unwritten };
  const shown = fields.map(beforeItIsWritten);
  return {
    [name]: withExample(answered(shown, { ...made, ...lineMembersOf(target) }), globalExample(fields)),
    [`${name}.update`]: bodyOrDraft(target, 'update', own),
    ...draftSchemas(target, { made, own }),
  };
}

/** A global that was never written answers its defaults: a required field without a default has no value. */
function beforeItIsWritten(field: Field): Field {
  const { required: _, ...rest } = field;
  return field.makeDefault ? field : rest;
}

/** References of the past state to documents that are gone. */
const danglingIds: Shape<{ field: string; id: string }[]> = {
  type: 'array',
  description: 'Ids of documents that do not exist any more; the fields keep them.',
  items: closed({ field: text, id: anything }),
};

const dryRun = closed({
  source: closed({ version: whole, position: whole }),
  diff: listOf(closed({ field: text, before: anything, after: anything })),
  dangling: danglingIds,
  conflicts,
});

const publishDryRun = closed({
  version: described(count, 'The version of the document whose draft would be published.'),
  changes: listOf(closed({ field: text, before: anything, after: anything })),
  problems: described(
    listOf(closed({ field: text, message: text, code: text })),
    'Problems that a public document may not have.',
  ),
  notPublished: described(
    listOf(closed({ field: text, collection: text, id: text, title: text })),
    'Linked documents that are not public, of which the caller may read the drafts.',
  ),
  overwritten: described(
    // biome-ignore lint/suspicious/noThenProperty: a name in an answer, whose value is never a function
    listOf(closed({ field: text, now: anything, then: anything })),
    'Public values that would be replaced, and that became public after the draft was changed.',
  ),
  releases: described(listOf(text), 'The ids of releases that are still to come, with this document.'),
});

const restore = either(
  closed({ version: described(place, 'The version to restore.') }),
  closed({ position: described(place, 'The position of the log whose state is restored.') }),
);

const planMembers = {
  at: described(time, 'Not now, but at this time, as a release of this document. Not together with `data`.'),
  timeZone: described(orNull(text), 'The IANA name of the time zone to show `at` in.'),
};

const publishSchemas = {
  PublishDryRun: publishDryRun,
  Plan: objectWith(planMembers),
  Planned: closed({ release: text }),
};

/** The token of a preview where no token shows a view of the site. */
const tokenSchemas = {
  PreviewToken: closed({ token: described(text, 'Shows the draft for 15 minutes, to anyone who has it.') }),
};

function hasDrafts({ collections, globals }: Model): boolean {
  return [...collections.values(), ...globals.values()].some(({ drafts }) => drafts);
}
const ofBodies = {
  Ignored: { ...anyJson, description: 'Set by the server, ignored in a body.', readOnly: true },
  Json: {},
};

const countSchemas = { Count: closed({ total: count }), Absent: absent };

const figures = described(
  anyObject as Shape<Record<string, number | string | null>>,
  'By path; null if no document has a value.',
);
const figuresByKind = { sum: figures, min: figures, max: figures, avg: figures };
const groupValue: Shape<string | number | boolean | null> = anyJson;

const groupSchemas = {
  Groups: closed({
    groups: listOf(
      closed(
        {
          key: described(
            anyObject as Shape<Record<string, ValueOf<typeof groupValue>>>,
            'The value of each path of `groupBy`; null for documents without a value.',
          ),
          count: described(count, 'The number of documents in the group.'),
          ...figuresByKind,
        },
        ['key', 'count'],
      ),
    ),
    total: described(count, 'The number of all groups.'),
  }),
  Values: closed({
    values: listOf(
      closed({
        value: described(groupValue, 'The value; null for documents without one.'),
        count: described(count, 'The number of documents that have the value.'),
      }),
    ),
    total: described(count, 'The number of all values.'),
  }),
};

/** The schemas of the answers that are described alike, or nearly so, for every configuration. */
export type AnswerSchemas = typeof fixed &
  typeof publishSchemas &
  typeof countSchemas &
  typeof groupSchemas &
  typeof trashSchemas &
  typeof reviewAnswers &
  typeof pointingSchemas &
  ReturnType<typeof keySchemasOf> &
  typeof webhookSchemas &
  typeof releaseSchemas &
  typeof tokenSchemas &
  typeof bulkAnswers &
  typeof bulkLineAnswers &
  typeof batchSchemas &
  typeof accountSchemas & { Schemas: typeof everySchemas };

const fixed = {
  ...errorSchemas,
  Restore: restore,
  DryRun: dryRun,
  Unrestorable: errorSchema({ errors: fieldErrors, conflicts }),
  Stale: stale,
  Field: fieldSchema,
  Block: blockSchema,
  ...conditionSchemas,
  Found: closed({
    docs: listOf(
      closed({
        collection: described(text, 'The slug of the collection.'),
        id: text,
        title: text,
        excerpt: described(text, 'HTML: escaped text with `<mark>` around the words.'),
      }),
    ),
    total: count,
  }),
  Counts: closed({
    collections: described(mapOf(closed({ total: count })), 'By slug.'),
  }),
  Preview: closed({
    collection: described(text, 'The slug of the collection.'),
    id: described(text, 'The id of a document of the collection.'),
    data: described(anyObject, 'The draft, as a form has it. It is not validated.'),
  }),
  Boot: closed({
    title: described(text, 'The title of the admin UI.'),
    initialized: described(
      flag,
      'Whether the admin collection has a user. If not, its setup page creates the first one.',
    ),
    authCollections: listOf(
      closed({
        slug: text,
        labels: orNull(closed({ singular: text, plural: text })),
        isAdmin: described(flag, 'Whether this is the admin collection.'),
        login: described(listOf(choice(['password'])), 'The ways to log in.'),
      }),
    ),
    publicSchema: described(flag, 'Whether `/api/schemas` needs no credential.'),
  }),
};
