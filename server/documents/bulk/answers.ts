import type { JsonObject } from '../../../config/schema.ts';
import { splitStream } from '../../../events/facts/catalogue.ts';
import { type Header, headerOf } from '../../../events/facts/envelope.ts';
import type { App } from '../../app.ts';
import type { AnswerOf } from '../../openapi/answers.ts';
import type { ItemDecision } from './items.ts';
import { mostDocuments } from './requests.ts';

/** The outcome of a bulk call for one document. */
type Outcome = 'created' | 'updated' | 'deleted' | 'restored' | 'unchanged';

/** One document in the answer to a bulk call: `version` is its version after the call. */
export type BulkItemResult = Omit<AnswerOf<'Undone'>['results'][number], 'collection' | 'outcome'> & {
  outcome: Outcome;
};

/** The result of a decision. */
export function resultOf({ item: { index }, id, version, change }: ItemDecision): BulkItemResult {
  return { index, id, version, outcome: outcomeOf(change?.events[0]?.type) };
}

function outcomeOf(type: string | undefined): Outcome {
  return type === undefined ? 'unchanged' : (type.replace('document.', '') as Outcome);
}

/** The answer to a call about chosen documents, with the result of each. */
export function answerOf(results: readonly BulkItemResult[], batch: string | null): JsonObject {
  const changed = results.filter(({ outcome }) => outcome !== 'unchanged').length;
  return { matched: results.length, changed, results: [...results], batch };
}

/** The headers of the events of a bulk call, in their order; the call begins after `position`. */
export function headersIn({ events }: App, batch: string, position: number): Header[] {
  const { size } = events.head();
  return events
    .headers(position, Math.min(size, position + mostDocuments))
    .map(headerOf)
    .filter((header) => header.batch === batch);
}

/**
 * The results of an earlier bulk call for documents with these ids; `thenOf` gives the version of a document that the
 * call did not change.
 */
export function pastResults(
  ids: readonly string[],
  headers: readonly Header[],
  thenOf: (id: string) => number,
): BulkItemResult[] {
  const byId = new Map(headers.map((header) => [splitStream(header.stream)[1], header]));
  return ids.map((id, index) => {
    const header = byId.get(id);
    return { index, id, version: header?.version ?? thenOf(id), outcome: outcomeOf(header?.type) };
  });
}
