import { counted } from '../../config/counted.ts';
import { count, place, text } from './basics.ts';
import { type ApiSchema, schemaRef } from './fields.ts';

/** The answer of a status: JSON unless another type is given, and without a schema no body. `others`: by media type. */
export type DescribedAnswer = {
  description: string;
  schema?: ApiSchema;
  type?: string;
  others?: Record<string, ApiSchema>;
  headers?: Record<string, ApiSchema>;
};

/** The answers of an operation by their status. */
export type DescribedAnswers = { [status: string]: DescribedAnswer };

/** The meaning of each refusal (contract, section 7), for the statuses that operations can have. */
const meanings = {
  400: 'Fields or parameters are wrong or unknown, and `errors` names each; or the request cannot be parsed.',
  401: 'A credential is missing or wrong.',
  403: 'A rule of the configuration refused the request.',
  404: 'There is no such document.',
  408: 'The body took too long to arrive.',
  409: 'A unique value is taken, or other writers keep changing the document.',
  413: 'The body is too large.',
  415: 'The body is not JSON, or it is compressed.',
  500: 'A bug in the service or in a hook.',
} as const;

const meaningsForNow = {
  429: 'Too many calls, or too many failed logins.',
  503: 'The disk is full, too many writes or passwords are queued, or the clock of the service has jumped.',
} as const;

/** A header of an answer. */
export function header(description: string, schema: ApiSchema, required = true): ApiSchema {
  return { description, required, schema };
}

/** The header that says when to come again. */
export const retryAfter = { 'Retry-After': header('The seconds to wait before the next attempt.', place) };

/** The refusal of what is not possible just now. */
export function unavailable(description: string): DescribedAnswers {
  return { 503: { ...json(description, 'Error'), headers: retryAfter } };
}

/** The answer to a request that succeeds. */
export function json(description: string, schema: string): DescribedAnswer {
  return { description, schema: schemaRef(schema) };
}

const ofThen = {
  'Annals-Position': header('With `asOf`: the position of the log at which the answer shows the data.', count, false),
};

/** An answer that may be as of a moment. */
export function asOfThen(answer: DescribedAnswer): DescribedAnswer {
  return { ...answer, headers: { ...answer.headers, ...ofThen } };
}

/** The refusal of a document that is not there, today or as of a moment. */
export const refusalOfAbsent: DescribedAnswers = {
  404: json(
    'There is no such document. With `asOf`: if the document was created later or deleted before, and the caller may read ' +
      'its current or last version, `created` or `deleted` names the event.',
    'Absent',
  ),
};

/** The refusal of what cannot be answered as of a moment just now. */
export const refusalsOfThen: DescribedAnswers = unavailable(
  'Too many copies of the past are being built, or too many answers are queued; try again later.',
);

const behind = 'The search index is behind the documents; try again later.';

/** The refusal of a search that the index cannot serve just now. */
export const refusalOfSearch: DescribedAnswers = unavailable(behind);

/** As {@link refusalsOfThen}, where `q` may search as well. */
export const refusalsOfThenOrSearch: DescribedAnswers = unavailable(
  `Too many copies of the past are being built, or too many answers are queued; try again later. With \`q\`: ${behind}`,
);

const ofFiles = {
  ETag: header('Changes when the bytes change.', text),
  'Accept-Ranges': header('`bytes`', text),
  'Content-Range': header('The range, and the size of the file: `bytes 0-499/1234`, or `bytes */1234`.', text),
  'Content-Disposition': header(
    'The name of the file; `attachment` if a browser should save the file instead of showing it.',
    text,
  ),
  'Content-Security-Policy': header('Prevents active content from running in a browser.', text, false),
  'Cross-Origin-Resource-Policy': header('`cross-origin`, if everybody may read the file.', text, false),
};

const ofDocument = {
  ETag: header('Begins with the version of the document, and changes when the answer changes.', text),
};

/** The headers of an answer that is no document, but has a tag. */
export const ofSchemas = { ETag: header('Changes when the answer changes.', text) };

/** The headers of an OpenAPI document. */
const ofDescription = { ETag: header('Changes when the configuration or the version of the service changes.', text) };

/** An OpenAPI document, or that the client's copy of it is current. */
export const description: DescribedAnswers = {
  200: { description: 'OpenAPI 3.0.', schema: { type: 'object' }, headers: ofDescription },
  304: { description: 'The description has not changed: it still has this `ETag`.', headers: ofDescription },
};

/** The answer to a request that has made something new. */
export function created(answer: DescribedAnswer): DescribedAnswer {
  return { ...answer, headers: { ...answer.headers, Location: header('The address of it.', text) } };
}

/** A document, with the tag that stands for it. */
export function document(description: string, schema: string): DescribedAnswer {
  return { ...json(description, schema), headers: ofDocument };
}

const ofReplay = {
  'Idempotent-Replayed': header(
    '`true` if the `Idempotency-Key` was used before: this is the first answer again.',
    { type: 'string', enum: ['true'] },
    false,
  ),
};

/** The answer to a write that may be named by an `Idempotency-Key`. */
export function replayable(answer: DescribedAnswer): DescribedAnswer {
  return { ...answer, headers: { ...answer.headers, ...ofReplay } };
}

/** The response when the client's copy is current, as requested by `If-None-Match`. */
export const unchanged: DescribedAnswers = {
  304: { description: 'The document has not changed: it still has this `ETag`.', headers: ofDocument },
};

/** The refusal of a write that is meant for another version. */
export const refusalOfStale: DescribedAnswers = {
  412: json('The document is not at the version that `If-Match` names.', 'Stale'),
};

/** The refusal of an `Idempotency-Key` that came with something else before. */
export const refusalOfOther: DescribedAnswers = {
  422: json('The `Idempotency-Key` was used before, for another request.', 'Error'),
};

/** Another meaning of a 409, where an answer is kept for an `Idempotency-Key`. */
export const orInUse = 'Or an earlier request with the `Idempotency-Key` has no answer yet (`idempotency_key_in_use`).';

/** The refusals of an `Idempotency-Key` where an answer is kept for it, and nothing else is a 409. */
export const refusalsOfKept: DescribedAnswers = {
  409: json('An earlier request with the `Idempotency-Key` has no answer yet (`idempotency_key_in_use`).', 'Error'),
  ...refusalOfOther,
};

/** The answer to a restore: the document, or its state after one. */
export function restored(schema: string): DescribedAnswer {
  return answerOrTrial('The document, with its `ETag`; with `dryRun`, the differences that the restore would make.', [
    schema,
    'DryRun',
  ]);
}

/** A document with its tag, or the answer to a dry run. @param schemas the names of all of them. */
export function answerOrTrial(description: string, schemas: readonly string[]): DescribedAnswer {
  const { ETag } = ofDocument;
  return {
    description,
    // Not `oneOf`: a global promises no member, so that the differences fit its schema too.
    schema: { anyOf: schemas.map(schemaRef) },
    headers: { ETag: { ...ETag, required: false } },
  };
}

/** The refusal of a restore that cannot be. */
export const refusalOfRestore: DescribedAnswers = {
  409: json(
    'Unique values are taken, the past state was erased, or other writes keep changing the document.',
    'Unrestorable',
  ),
};

/** Bytes of a file, of its own type, with these headers. */
export function bytes(description: string, headers: readonly (keyof typeof ofFiles)[]): DescribedAnswer {
  return { description, schema: { type: 'string', format: 'binary' }, type: '*/*', headers: headersOf(headers) };
}

/** Headers of a file by their names. */
export function headersOf(names: readonly (keyof typeof ofFiles)[]): Record<string, ApiSchema> {
  return Object.fromEntries(names.map((name) => [name, ofFiles[name]]));
}

/** The refusal of a store of files that does not answer, or is full. */
export function refusalsOfStore(others = ''): DescribedAnswers {
  return unavailable(`The store of files does not answer, or is full${others}.`);
}

/** The refusals that differ if a body may be a file. */
export const refusalsOfUploads: DescribedAnswers = {
  413: json('The file is too large (then `errors` names `file`), or the rest of the body is.', 'Error'),
  415: json('The body has a type that this operation does not accept, or is compressed.', 'Error'),
  ...refusalsOfStore('; or too many writes are queued, or the clock of the service has jumped'),
};

const ofChallenge = {
  'WWW-Authenticate': header(
    '`Bearer realm="annals"`; with `error="invalid_token"` for a token that is not valid.',
    text,
  ),
};

/** The refusal of a caller without a right credential. */
export function unauthorized(description: string): DescribedAnswer {
  return { ...json(description, 'Error'), headers: ofChallenge };
}

/** The refusals with these statuses. */
export function refusals(statuses: readonly (keyof typeof meanings)[]): DescribedAnswers {
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      status === 401 ? unauthorized(meanings[401]) : json(meanings[status], status === 400 ? 'Invalid' : 'Error'),
    ]),
  );
}

/** The refusal of a body of more than this many bytes. */
export function refusalOfLarge(bytes: number): DescribedAnswers {
  return { 413: json(`The body has more than ${counted(bytes, 'byte')}.`, 'Error') };
}

/** The refusal of a write that cannot be recorded just now. */
export const refusalForNow: DescribedAnswers = unavailable(
  'The disk is full, too many writes are queued, or the clock of the service has jumped.',
);

/** The refusals with these statuses where accounts are: they say when to come again. */
export function refusalsForNow(statuses: readonly (keyof typeof meaningsForNow)[]): DescribedAnswers {
  return Object.fromEntries(
    statuses.map((status) => [status, { ...json(meaningsForNow[status], 'Error'), headers: retryAfter }]),
  );
}

/** A hook may refuse with a status of its own. */
export function ofHooks(isHooked: boolean): DescribedAnswers {
  return isHooked ? { default: json('A hook of the configuration refused the request.', 'Error') } : {};
}
