import { DomainError } from '../../config/errors.ts';
import { isObject, type Json, type JsonObject } from '../../config/schema.ts';
import { CallError } from '../errors.ts';
import { type OperatorAnswer, problemsIn } from '../operator-connection.ts';
import type { Calls } from './service.ts';

/** A document as the service answers with it. */
export type JsonDocument = JsonObject & { id: string };

/** A row that is refused: one line for each reason. */
export class RowError extends Error {
  override name = 'RowError';
}

/** The body of an answer. @throws RowError if the service refused the request. */
export function accepted({ status, body }: OperatorAnswer): JsonObject {
  if (status < 300) return body;
  throw new RowError(problemsIn(body).join('\n'));
}

/** @throws RowError with each wrong field of a body that a validator refused. */
export function asRowError(error: unknown): never {
  if (!(error instanceof DomainError)) throw error;
  throw new RowError(problemsIn({ message: error.message, errors: error.errors as never }).join('\n'));
}

/** Whether a document is one: the service never answers another way. */
function asDocument(value: unknown): JsonDocument {
  const id = isObject(value) ? value.id : undefined;
  if (!isObject(value) || typeof id !== 'string') throw new CallError('the service answered with no document');
  return { ...value, id };
}

/** The document that an answer holds. @throws RowError if the service refused the request. */
export function documentIn(answered: OperatorAnswer): JsonDocument {
  return asDocument(accepted(answered));
}

/** Finds a document by the value of a unique field. @throws RowError for a value that the field cannot have. */
export async function findDocument(
  calls: Calls,
  slug: string,
  { field, value }: { field: string; value: Json },
): Promise<JsonDocument | null> {
  const where = encodeURIComponent(JSON.stringify({ [field]: { equals: value } }));
  const { docs } = accepted(
    await calls.ask({ method: 'GET', path: `/api/collections/${slug}?limit=1&where=${where}` }),
  );
  const [found] = Array.isArray(docs) ? docs : [];
  return found === undefined ? null : asDocument(found);
}
