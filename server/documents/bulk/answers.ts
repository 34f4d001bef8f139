import type { JsonObject } from '../../../config/schema.ts';
import { splitStream } from '../../../events/facts/catalogue.ts';
import { type Header, headerOf } from '../../../events/facts/envelope.ts';
import type { App } from '../../app.ts';
import type { AnswerOf } from '../../openapi/answers.ts';
import type { ItemDecision } from './items.ts';
import { mostDocuments } from './requests.ts';

/** The outcome of a bulk call for one document. */
type Outcome = 'created' | 'updated' | 'deleted' | 'restored' | 'published' | 'unpublished' | 'discarded' | 'unchanged';

/** One document in the answer to a bulk call: `version` is its version after the call. */
export type BulkItemResult = Omit<AnswerOf<'Undone'>['results'][number], 'collection' | 'outcome'> & {
  outcome: Outcome;
};

/** Gives the outcome for a document from the types of its events, in their order; there may be none. */
type OutcomeOf = (types: readonly string[]) => Outcome;

/** The result of a decision of a bulk call. */
export function resultOf(decision: ItemDecision): BulkItemResult {
  return resultAs(outcomeOfCall, decision);
}

/** The result of a decision of an undo. */
export function undoneResultOf(decision: ItemDecision): BulkItemResult {
  return resultAs(outcomeOfUndo, decision);
}

function resultAs(outcomeOf: OutcomeOf, { item: { index }, id, version, change }: ItemDecision): BulkItemResult {
  return { index, id, version, outcome: outcomeOf(change?.events.map(({ type }) => type) ?? []) };
}

/** The outcome of the last event, of either line: values are saved before they are published. */
function outcomeOfCall(types: readonly string[]): Outcome {
  return (types.at(-1)?.replace(/^document\.(?:draft\.)?/, '') as Outcome | undefined) ?? 'unchanged';
}

/**
 * The outcome of an undo, whose first event is about the public state: a publication, or the end of one, updates a
 * document, as does a change of its draft.
 */
export function outcomeOfUndo([first]: readonly string[]): Outcome {
  if (first === undefined) return 'unchanged';
  const verb = first.split('.').at(-1);
  return verb === 'created' || verb === 'deleted' || verb === 'restored' ? verb : 'updated';
}

/** The answer to a call about chosen documents, with the result of each. */
export function answerOf(results: readonly BulkItemResult[], batch: string | null): JsonObject {
  const changed = results.filter(({ outcome }) => outcome !== 'unchanged').length;
  return { matched: results.length, changed, results: [...results], batch };
}

/** How many events a bulk call has of each document at most: values that are saved in a draft, and its publication. */
const eventsOfEach = 4;

/** The headers of the events of a bulk call, in their order; the call begins after `position`. */
export function headersIn({ events }: App, batch: string, position: number): Header[] {
  const { size } = events.head();
  return events
    .headers(position, Math.min(size, position + eventsOfEach * mostDocuments))
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
  { thenOf, outcomeOf = outcomeOfCall }: { thenOf: (id: string) => number; outcomeOf?: OutcomeOf },
): BulkItemResult[] {
  const byId = Map.groupBy(headers, ({ stream }) => splitStream(stream)[1]);
  return ids.map((id, index) => {
    const own = byId.get(id) ?? [];
    const outcome = outcomeOf(own.map(({ type }) => type));
    return { index, id, version: own.at(-1)?.version ?? thenOf(id), outcome };
  });
}
