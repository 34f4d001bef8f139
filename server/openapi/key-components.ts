import { keyAudits, keyOperations, maxKeyName, maxKeyScopes, maxOverlapSeconds } from '../../config/api-keys.ts';
import type { Model } from '../../config/model.ts';
import { closed, described, listOf, orNull, text, time } from './basics.ts';
import { type Schema, schemaRef } from './fields.ts';

/** The schemas of the routes of API keys. A body may name what is configured; a key may name what no longer is. */
export function keySchemas({ collections, globals }: Pick<Model, 'collections' | 'globals'>): Record<string, Schema> {
  const key = {
    id: { type: 'string', pattern: '^[0-9a-f]{16}$', description: 'Events name the key by it.' },
    name: text,
    scopes: listOf(schemaRef('KeyScope')),
    audit: listOf({ type: 'string', enum: [...keyAudits] }),
    createdAt: time,
    createdBy: closed({ type: { type: 'string', enum: ['user', 'apiKey', 'system'] }, id: text }, ['type']),
    expiresAt: orNull(time),
    lastUsedAt: described(orNull(time), 'To the minute; null before the first use.'),
  };
  const secret = { type: 'string', description: 'For the header `x-api-key`. It is shown this once.' };
  const operations = { ...unique(keyOperations), minItems: 1 };
  return {
    ApiKey: closed(key),
    ApiKeyWithSecret: closed({ ...key, secret }),
    ApiKeys: closed({ keys: listOf(schemaRef('ApiKey')) }),
    KeyScope: closed({ collections: slugs(text), globals: slugs(text), operations }),
    NewKeyScope: closed(
      {
        collections: slugs(choice([...collections.keys()])),
        globals: slugs(choice([...globals.keys()])),
        operations,
      },
      ['operations'],
    ),
    NewApiKey: closed(
      {
        name: {
          type: 'string',
          minLength: 1,
          maxLength: maxKeyName,
          description: 'One line. The log keeps it for ever.',
        },
        scopes: { ...listOf(schemaRef('NewKeyScope')), maxItems: maxKeyScopes, default: [] },
        audit: { ...unique(keyAudits), default: [] },
        expiresAt: described(orNull(time), 'In the future; null, the default: never.'),
      },
      ['name'],
    ),
    ApiKeyRotation: closed(
      { overlapSeconds: { type: 'integer', minimum: 0, maximum: maxOverlapSeconds, default: 0 } },
      [],
    ),
  };
}

function unique(words: readonly string[]): Schema {
  return { type: 'array', items: choice(words), uniqueItems: true };
}

function slugs(items: Schema): Schema {
  return {
    oneOf: [
      { type: 'string', enum: ['*'] },
      { ...listOf(items), uniqueItems: true },
    ],
    description: '`*` stands for all, also those of later configurations.',
  };
}

/** Where there is nothing to choose, any text is refused in its place. */
function choice(words: readonly string[]): Schema {
  return words.length > 0 ? { type: 'string', enum: [...words] } : text;
}
