import { DomainError } from '../../../config/errors.ts';
import type { Collection } from '../../../config/model.ts';
import type { Current } from '../../../events/facts/documents.ts';
import { idIn, type ListRequest, type Page } from '../../../projections/query/lists.ts';
import type { Where } from '../../../projections/query/where.ts';
import type { Call, Target } from '../../app.ts';
import { yieldToEventLoop } from '../../platform/yield.ts';
import { ownSortKeys } from '../../queries/paths.ts';
import type { CallerQuery } from '../../reads/missing-index.ts';
import { readManyAt } from '../read/reading.ts';
import { streamOf } from '../write/current.ts';
import { mostCharacters } from './requests.ts';

/** Reads pages of the documents of a collection, today or as of a position. */
export type Lister = (request: ListRequest) => Promise<Page>;

/**
 * Makes a lister of a collection as of a position; null: of today.
 *
 * @param written what the caller has written, of which a refusal may tell.
 */
export function listerOf(call: Call, position: number | null, written: CallerQuery = {}): Lister {
  return (request) => readManyAt(call, { read: { kind: 'list', request }, position, written });
}

/** How many documents a page has: its texts are in memory. */
const atOnce = 250;
const [id] = ownSortKeys('id', []);

/**
 * The texts of all documents that meet a condition, in the order of their ids. A document that meets the condition
 * throughout is given once, whatever is written meanwhile.
 *
 * @throws DomainError `too_large`.
 */
export async function* textsOf(list: Lister, where: Where): AsyncGenerator<string> {
  if (!id) throw new Error('documents cannot be sorted by their ids');
  let characters = 0;
  let last = '';
  for (;;) {
    const further: Where = { steps: id.steps, leaf: id.leaf, operator: 'greater_than', values: [last] };
    const { texts } = await list({
      where: { and: [where, further] },
      sort: [id],
      limit: atOnce,
      page: 1,
      count: 'none',
    });
    for (const text of texts) {
      characters += text.length;
      refuseTooMuch(characters);
      yield text;
      last = idIn(text);
    }
    if (texts.length < atOnce) return;
    await yieldToEventLoop();
  }
}

/**
 * The documents with these ids as they are today; null for those that do not exist.
 *
 * @throws DomainError `too_large`.
 */
export function loaded({ documents }: Target<Collection>, ids: readonly string[]): Map<string, Current | null> {
  let characters = 0;
  const found = new Map<string, Current | null>();
  for (const id of ids) {
    const stored = documents.stored(id);
    characters += stored?.text.length ?? 0;
    refuseTooMuch(characters);
    found.set(id, stored && { version: stored.version, document: JSON.parse(stored.text) });
  }
  return found;
}

/** The version that a document had at a position. */
export function versionAt({ app, target }: Call, id: string, position: number): number {
  if (target.lines) return app.events.lastOf(streamOf(target, id), position)?.version ?? 0;
  return target.documents.asOf(id, position)?.version ?? 0;
}

/** The characters of the documents with these ids, of both lines. */
export function charactersOf({ documents, draftDocuments }: Target, ids: readonly string[]): number {
  let characters = 0;
  for (const id of ids) {
    characters += (documents.stored(id)?.text.length ?? 0) + (draftDocuments?.stored(id)?.text.length ?? 0);
  }
  return characters;
}

/** @throws DomainError `too_large` if the documents have more characters than one call may be about. */
export function refuseTooMuch(characters: number): void {
  if (characters <= mostCharacters) return;
  throw new DomainError(
    'too_large',
    `the documents have more than ${mostCharacters} bytes together: take fewer at once`,
  );
}
