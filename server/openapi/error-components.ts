import { closed, text } from './basics.ts';
import { type Schema, schemaRef } from './fields.ts';

const whole: Schema = { type: 'integer' };
export const fieldErrors: Schema = {
  type: 'array',
  description:
    'The fields, parameters or headers that are to blame; nested ones by dotted path. The field is empty where it is the body as a whole.',
  items: closed({ field: text, message: text }),
};

export function errorSchema(name: Schema, errors: Record<string, Schema> = { errors: fieldErrors }): Schema {
  return closed({ statusCode: whole, error: name, message: text, ...errors }, ['statusCode', 'error', 'message']);
}

export const stale = {
  version: { type: 'integer', minimum: 0, description: 'The version that the document is at.' },
  etag: { type: 'string', description: 'Its `ETag`; only if the caller may read it.' },
  fields: {
    type: 'array',
    description: 'The fields that are not as the caller knows them; only if the caller may read the document.',
    items: closed({ field: text, before: {}, current: {} }, ['field', 'current']),
  },
};

const turn = closed({
  version: { type: 'integer', minimum: 1 },
  position: { type: 'integer', minimum: 1 },
  recordedAt: { type: 'string', format: 'date-time' },
});

/** Why a document is not there as of a moment: at most one of them. */
export const turns = {
  created: { ...turn, description: 'The later event that created the document.' },
  deleted: { ...turn, description: 'The event that had deleted the document.' },
};

export const conflicts: Schema = {
  type: 'array',
  description: 'The unique values that others have, with the ids of those that the caller may read.',
  items: closed({ field: text, id: text }, ['field']),
};

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
