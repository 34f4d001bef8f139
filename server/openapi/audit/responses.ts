import { count, text } from '../basics.ts';
import type { ApiOperation } from '../operation.ts';
import { type DescribedAnswer, type DescribedAnswers, header, json, refusals, unavailable } from '../responses.ts';

/** For subjects that the log does not know. */
export function unknownToLog(description: string): DescribedAnswers {
  return { 404: json(description, 'Error') };
}

/** The description of a route for auditors, with the refusals of every audit route. */
export function forAuditors(told: Omit<ApiOperation, 'caller'> & Partial<ApiOperation>): ApiOperation {
  return { caller: { kind: 'auditor' }, ...told, answers: { ...told.answers, ...ofEveryRoute() } };
}

/** The refusals of every audit route. */
export function ofEveryRoute(): DescribedAnswers {
  return refusals([400, 500]);
}

/** The refusal where a signature is needed and not possible. */
export function refusalOfSigning(description = 'The disk is too full to sign a checkpoint.'): DescribedAnswers {
  return unavailable(description);
}

const headers = {
  'Content-Disposition': header('The name of the archive.', text),
  'Annals-Checkpoint': header('The size and the root of the checkpoint in the archive: `701 JOCy+ehk…=`.', text),
  'Annals-Range': header('The first and the last position: `1-701`.', text),
  'Annals-Events': header('The number of events in the archive.', count),
};

/** A ZIP archive, with these headers. */
export function archive(description: string, names: readonly (keyof typeof headers)[]): DescribedAnswer {
  const schema = { type: 'string', format: 'binary' };
  const told = Object.fromEntries(names.map((name) => [name, headers[name]]));
  return { description, schema, type: 'application/zip', headers: told };
}

/** A text of a format of its own. */
export function plainText(description: string): DescribedAnswer {
  return { description, schema: { type: 'string' }, type: 'text/plain' };
}
