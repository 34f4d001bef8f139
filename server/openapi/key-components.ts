import { keyAudits, keyOperationsOf, maxKeyName, maxKeyScopes, maxOverlapSeconds } from '../../config/api-keys.ts';
import type { Model } from '../../config/model.ts';
import {
  choice,
  closed,
  described,
  either,
  listOf,
  orNull,
  pageOf,
  refTo,
  type Shape,
  text,
  time,
  withKeywords,
} from './basics.ts';

type Targets = Pick<Model, 'collections' | 'globals'>;

/** The schemas of API keys. The scopes of a key may name collections that are no longer configured. */
export function keySchemasOf(model: Targets) {
  const scope = closed({ collections: slugs(text), globals: slugs(text), operations: operationsOf(model) });
  const members = {
    id: described({ ...text, pattern: '^[0-9a-f]{16}$' }, 'The id by which events name the key.'),
    name: text,
    scopes: listOf(refTo('KeyScope', scope)),
    audit: listOf(choice(keyAudits)),
    createdAt: time,
    createdBy: closed({ type: choice(['user', 'apiKey', 'system']), id: text }, ['type']),
    expiresAt: orNull(time),
    lastUsedAt: described(orNull(time), 'The time of the last use, to the minute; null before the first use.'),
  };
  const key = closed(members);
  const secret = described(text, 'The secret, for the header `x-api-key`. It is shown only once.');
  return {
    ApiKey: key,
    ApiKeyWithSecret: closed({ ...members, secret }),
    ApiKeys: pageOf(refTo('ApiKey', key)),
    KeyScope: scope,
  };
}

/** The bodies of the routes of API keys. They may name only what is configured. */
export function keyBodies(model: Targets) {
  const { collections, globals } = model;
  const newScope = closed(
    {
      collections: slugs(slugOf([...collections.keys()])),
      globals: slugs(slugOf([...globals.keys()])),
      operations: operationsOf(model),
    },
    ['operations'],
  );
  return {
    NewKeyScope: newScope,
    NewApiKey: closed(
      {
        name: withKeywords(text, {
          minLength: 1,
          maxLength: maxKeyName,
          description: 'One line. The log keeps it for ever.',
        }),
        scopes: withKeywords(listOf(refTo('NewKeyScope', newScope)), { maxItems: maxKeyScopes, default: [] }),
        audit: withKeywords(unique(keyAudits), { default: [] }),
        expiresAt: described(orNull(time), 'A time in the future; null, the default: the key does not expire.'),
      },
      ['name'],
    ),
    ApiKeyRotation: closed(
      { overlapSeconds: { type: 'integer', minimum: 0, maximum: maxOverlapSeconds, default: 0 } },
      [],
    ),
  };
}

function operationsOf(model: Targets) {
  return withKeywords(unique(keyOperationsOf(model)), { minItems: 1 });
}

function unique<Word extends string>(words: readonly Word[]): Shape<readonly Word[]> {
  return { ...listOf(choice(words)), uniqueItems: true };
}

function slugs(items: Shape<string>): Shape<'*' | readonly string[]> {
  return described(
    either(choice(['*']), { ...listOf(items), uniqueItems: true }),
    '`*` stands for all, also for those of later configurations.',
  );
}

/** One of these slugs; without any, a text that the service refuses. */
function slugOf(slugs: readonly string[]): Shape<string> {
  return slugs.length > 0 ? choice(slugs) : text;
}
