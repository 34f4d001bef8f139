import { type Answer, type Answers, json, refusals, retryAfter } from '../responses.ts';

/** Descriptions of statuses that differ between audit routes and others. */
const unsigned = 'There is no room on the disk to sign a checkpoint.';

/** For subjects that the log does not know. */
export function unknownToLog(description: string): Answers {
  return { 404: json(description, 'Error') };
}

/** The refusals of every audit route. */
export function ofEveryRoute(): Answers {
  return refusals([400, 500]);
}

/** The refusal where a signature is needed and not possible. */
export function refusalOfSigning(description = unsigned): Answers {
  return { 503: { ...json(description, 'Error'), headers: retryAfter } };
}

const headers = {
  'Content-Disposition': 'The name of the archive.',
  'Annals-Checkpoint': 'The size and the root of the checkpoint in it: `701 JOCy+ehk…=`.',
  'Annals-Range': 'The first and the last position: `1-701`.',
  'Annals-Events': 'The number of events in it.',
} as const;

/** A ZIP archive, with these headers. */
export function archive(description: string, names: readonly (keyof typeof headers)[]): Answer {
  const told = names.map((name) => {
    const schema = name === 'Annals-Events' ? { type: 'integer', minimum: 0 } : { type: 'string' };
    return [name, { description: headers[name], required: true, schema }] as const;
  });
  const schema = { type: 'string', format: 'binary' };
  return { description, schema, type: 'application/zip', headers: Object.fromEntries(told) };
}

/** A text of a format of its own. */
export function plainText(description: string): Answer {
  return { description, schema: { type: 'string' }, type: 'text/plain' };
}
