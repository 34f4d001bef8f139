import { errorCodes } from '../../config/error-codes.ts';
import type { FieldError } from '../../config/errors.ts';
import { errorPlaces, fieldErrorCodes } from '../../config/field-error-codes.ts';
import {
  anything,
  choice,
  closed,
  count,
  described,
  either,
  listOf,
  namesOf,
  ofType,
  place,
  refTo,
  type Shape,
  text,
  time,
  whole,
  withKeywords,
} from './basics.ts';

/** The codes of errors. */
const errorCode = described(
  choice(namesOf(errorCodes)),
  `The kind of an error: a program decides by the code, since messages may change. ${meaningsOf(errorCodes)}`,
);

function meaningsOf(codes: Record<string, string>): string {
  return Object.entries(codes)
    .map(([code, meaning]) => `\`${code}\`: ${meaning}`)
    .join(' ');
}

const fieldErrorCode = described(
  choice(namesOf(fieldErrorCodes)),
  `The kind of a problem: a program decides by the code, since messages may change. ${meaningsOf(fieldErrorCodes)}`,
);

const fieldError: Shape<FieldError> = closed(
  {
    field: text,
    in: described(choice(errorPlaces), 'The part of the request that the field is in.'),
    code: refTo('FieldErrorCode', fieldErrorCode),
    message: text,
    limit: described(
      ofType<number>({ type: 'number' }),
      'The bound that was passed, for a message in another language.',
    ),
    allowed: described(listOf(text), 'The values that are allowed, if there are few.'),
  },
  ['field', 'in', 'code', 'message'],
);

/** The members at fault of a request. */
export const fieldErrors: Shape<FieldError[]> = {
  type: 'array',
  description:
    'The wrong fields, parameters or headers; nested fields by dotted path. The field is empty if the body as a whole is ' +
    'wrong.',
  items: refTo('FieldError', fieldError),
};

const always = {
  statusCode: whole,
  error: text,
  message: text,
  code: refTo('ErrorCode', errorCode),
};

/** A refusal with these members as well, of which the `needed` ones are always present. */
export function errorSchema<More extends Record<string, Shape<unknown>>, Needed extends keyof More & string = never>(
  more: More,
  needed: readonly Needed[] = [],
) {
  return closed({ ...always, ...more }, [...namesOf(always), ...needed]);
}

/** The refusal of a write that is meant for another version. */
export const stale = errorSchema(
  {
    version: described(count, 'The current version of the document.'),
    etag: described(text, 'The `ETag` of this version; only if the caller may read the document.'),
    fields: {
      type: 'array',
      description:
        'The fields that differ from the version that the caller named; only if the caller may read the document.',
      items: closed({ field: text, before: anything, current: anything }, ['field', 'current']),
    },
  },
  ['version'],
);

const turn = closed({ version: place, position: place, recordedAt: time });

/** The refusal of a document that is not there as of a moment. It has at most one of the two events. */
export const absent = errorSchema({
  created: described(turn, 'The later event that created the document.'),
  deleted: described(turn, 'The earlier event that deleted the document.'),
});

/** The unique values that stand in the way of a write. */
export const conflicts: Shape<{ field: string; id?: string }[]> = {
  type: 'array',
  description:
    'The unique fields whose values other documents have, with the ids of the documents that the caller may read.',
  items: closed({ field: text, id: text }, ['field']),
};

const badRequest = errorSchema({ error: choice(['Bad Request']) });
const validationError = errorSchema({ error: choice(['Validation Error']), errors: fieldErrors }, ['errors']);

/** The schemas of refusals. */
export const errorSchemas = {
  ErrorCode: errorCode,
  FieldErrorCode: fieldErrorCode,
  FieldError: fieldError,
  Error: errorSchema({ errors: fieldErrors }),
  BadRequest: badRequest,
  ValidationError: validationError,
  Invalid: withKeywords(either(refTo('ValidationError', validationError), refTo('BadRequest', badRequest)), {
    discriminator: {
      propertyName: 'error',
      mapping: {
        'Validation Error': '#/components/schemas/ValidationError',
        'Bad Request': '#/components/schemas/BadRequest',
      },
    },
  }),
};
