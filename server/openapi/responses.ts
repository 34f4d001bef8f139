import type { Json } from '../../config/schema.ts';
import { count, place, text } from './basics.ts';
import { type Schema, schemaRef } from './fields.ts';

/** The answer of a status: JSON unless another type is given, and without a schema no body. `others`: by media type. */
export type Answer = {
  description: string;
  schema?: Schema;
  type?: string;
  others?: Record<string, Schema>;
  headers?: Record<string, Schema>;
  /** Of a body in JSON. */
  example?: Json;
};

/** The answers of an operation by their status. */
export type Answers = { [status: string]: Answer };

/** The meaning of each refusal (contract, section 7), for the statuses that operations can have. */
const meanings = {
  400: 'Fields or parameters are wrong, or the request cannot be read at all.',
  401: 'A credential is needed, or the one that came is wrong.',
  403: 'A rule of the configuration said no.',
  404: 'There is no such document.',
  408: 'The body took too long to arrive.',
  409: 'A unique value is taken, or others keep changing the document.',
  413: 'The body is too large.',
  415: 'The body is not JSON, or it is compressed.',
  500: 'A fault of the service or of a hook.',
} as const;

const meaningsForNow = {
  429: 'There were too many calls, or too many failed logins.',
  503: 'There is no room on the disk, or too many writes or passwords wait; or the clock of the service has jumped.',
} as const;

/** An answer with an example of its body, where there is one. */
export function withExample(answer: Answer, example: Json | undefined): Answer {
  return example === undefined ? answer : { ...answer, example };
}

/** A header of an answer. */
export function header(description: string, schema: Schema, required = true): Schema {
  return { description, required, schema };
}

/** The header that says when to come again. */
export const retryAfter = { 'Retry-After': header('After how many seconds to try again.', place) };

/** The refusal of what is not possible just now. */
export function unavailable(description: string): Answers {
  return { 503: { ...json(description, 'Error'), headers: retryAfter } };
}

/** The answer to a request that succeeds. */
export function json(description: string, schema: string): Answer {
  return { description, schema: schemaRef(schema) };
}

const ofThen = {
  'Annals-Position': header('With `asOf`: the position of the log that the answer is as of.', count, false),
};

/** An answer that may be as of a moment. */
export function asOfThen(answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, ...ofThen } };
}

/** The refusal of a document that is not there, today or as of a moment. */
export const refusalOfAbsent: Answers = {
  404: json(
    'There is no such document. With `asOf`, if it was created later or was deleted by then, and the caller may read it as it is ' +
      'or last was, `created` or `deleted` tells where.',
    'Absent',
  ),
};

/** The refusal of what cannot be answered as of a moment just now. */
export const refusalsOfThen: Answers = unavailable(
  'Too much of the past is being made ready, or too many answers wait to be read; try again later.',
);

const behind = 'The search index is behind the documents; try again later.';

/** The refusal of a search that the index cannot serve just now. */
export const refusalOfSearch: Answers = unavailable(behind);

/** As {@link refusalsOfThen}, where `q` may search as well. */
export const refusalsOfThenOrSearch: Answers = unavailable(
  `Too much of the past is being made ready, or too many answers wait to be read; try again later. With \`q\`: ${behind}`,
);

const ofFiles = {
  ETag: header('Stands for the bytes: it changes when they do.', text),
  'Accept-Ranges': header('`bytes`', text),
  'Content-Range': header('Which bytes of how many: `bytes 0-499/1234`, or `bytes */1234`.', text),
  'Content-Disposition': header('The name of the file; `attachment` where it is not to be shown.', text),
  'Content-Security-Policy': header('Keeps what would run in a browser from running.', text, false),
  'Cross-Origin-Resource-Policy': header('`cross-origin`, for what anybody may read.', text, false),
};

const ofDocument = {
  ETag: header('Stands for the document: it begins with its version, and changes when the answer does.', text),
};

/** The headers of `/api/schemas`. */
export const ofSchemas = { ETag: header('Stands for the answer: it changes when that does.', text) };

/** A document, with the tag that stands for it. */
export function document(description: string, schema: string): Answer {
  return { ...json(description, schema), headers: ofDocument };
}

const ofReplay = {
  'Idempotent-Replayed': header(
    '`true` where the `Idempotency-Key` was used before: then this is the first answer again.',
    { type: 'string', enum: ['true'] },
    false,
  ),
};

/** The answer to a write that may be named by an `Idempotency-Key`. */
export function replayable(answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, ...ofReplay } };
}

/** The response when the client's copy is current, as requested by `If-None-Match`. */
export const unchanged: Answers = {
  304: { description: 'The document is the one that is there already.', headers: ofDocument },
};

/** The refusal of a write that is meant for another version. */
export const refusalOfStale: Answers = {
  412: json('The document is at another version than `If-Match` names.', 'Stale'),
};

/** The refusal of an `Idempotency-Key` that came with something else before. */
export const refusalOfOther: Answers = {
  422: json('The `Idempotency-Key` was used before, for another request.', 'Error'),
};

/** The answer to a restore: the document, or its state after one. */
export function restored(schema: string): Answer {
  const description = 'The document, with its `ETag`; or with `dryRun` what would be different.';
  const { ETag } = ofDocument;
  return {
    description,
    schema: { oneOf: [schemaRef(schema), schemaRef('DryRun')] },
    headers: { ETag: { ...ETag, required: false } },
  };
}

/** The refusal of a restore that cannot be. */
export const refusalOfRestore: Answers = {
  409: json('Unique values are taken, the past state is erased, or other writes keep changing it.', 'Unrestorable'),
};

/** Bytes of a file, of its own type, with these headers. */
export function bytes(description: string, headers: readonly (keyof typeof ofFiles)[]): Answer {
  return { description, schema: { type: 'string', format: 'binary' }, type: '*/*', headers: headersOf(headers) };
}

/** Headers of a file by their names. */
export function headersOf(names: readonly (keyof typeof ofFiles)[]): Record<string, Schema> {
  return Object.fromEntries(names.map((name) => [name, ofFiles[name]]));
}

/** The refusal of a store of files that does not answer, or is full. */
export function refusalsOfStore(others = ''): Answers {
  return unavailable(`The store of the files does not answer, or has no room${others}.`);
}

/** The refusals that differ if a body may be a file. */
export const refusalsOfUploads: Answers = {
  413: json('The file is too large, which `errors` says, or the rest of the body is.', 'Error'),
  415: json('The body is of a type that is not taken here, or it is compressed.', 'Error'),
  ...refusalsOfStore('; or too many writes wait, or the clock of the service has jumped'),
};

/** The refusals with these statuses. */
export function refusals(statuses: readonly (keyof typeof meanings)[]): Answers {
  return Object.fromEntries(
    statuses.map((status) => [status, json(meanings[status], status === 400 ? 'Invalid' : 'Error')]),
  );
}

/** The refusal of a write that cannot be recorded just now. */
export const refusalForNow: Answers = unavailable(
  'There is no room on the disk, too many writes wait, or the clock of the service has jumped.',
);

/** The refusals with these statuses where accounts are: they say when to come again. */
export function refusalsForNow(statuses: readonly (keyof typeof meaningsForNow)[]): Answers {
  return Object.fromEntries(
    statuses.map((status) => [status, { ...json(meaningsForNow[status], 'Error'), headers: retryAfter }]),
  );
}

/** A hook may refuse with a status of its own. */
export function ofHooks(isHooked: boolean): Answers {
  return isHooked ? { default: json('A refusal of a hook of the configuration.', 'Error') } : {};
}
