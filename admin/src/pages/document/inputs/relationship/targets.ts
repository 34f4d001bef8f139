import { type Collection, viewOf } from '../../../../schema/model.ts';
import { client } from '../../../../service/client.ts';
import { type Reading, useRead } from '../../../../service/queries.ts';
import { membersOf } from '../../../media/library/members.ts';
import { partsOf } from './order.ts';

/** A document that a field may point at, with the members that are shown. */
export type Target = { id: string; [member: string]: unknown };

/** The most documents that a search gives. */
const mostFound = 20;

/** The documents with these ids, as far as they exist; undefined until they are read. */
export function useTargets(collection: Collection, ids: readonly string[]) {
  const { slug } = collection;
  const select = membersOf(collection);
  const read = async (reading: Reading) => {
    const pages = partsOf(ids).map((part) =>
      client.collection(slug).find({
        ...reading,
        ...viewOf(collection),
        where: { id: { in: part } },
        select,
        limit: part.length,
        count: 'none',
      }),
    );
    return (await Promise.all(pages)).flatMap(({ docs }): Target[] => docs);
  };
  return useRead(['list', slug, { targets: ids }], read, { enabled: ids.length > 0, keep: true });
}

/**
 * The documents that a search finds, the best first; without words the first of the collection. The service takes the
 * last word as the beginning of a word. If that finds too many documents, those that hold the typed words as a phrase
 * come first, because a title that is typed in full has to be among the results.
 */
export function useFound(collection: Collection, words: string, isOpen: boolean) {
  const { slug } = collection;
  const query = { select: membersOf(collection), limit: mostFound, count: 'none' as const, ...viewOf(collection) };
  const read = async (reading: Reading) => {
    // A search knows only the documents of today, and in the past nothing can be chosen.
    const { asOf: _, ...now } = reading;
    const search = async (q: string) => client.collection(slug).find({ ...now, ...query, ...(q === '' ? {} : { q }) });
    const page = await search(words);
    const hasMore = page.hasNextPage;
    const whole = hasMore && words !== '' ? (await search(`"${words.replaceAll('"', ' ')}"`)).docs : [];
    const docs: Target[] = [...whole, ...page.docs];
    const unique = [...new Map(docs.map((one) => [one.id, one])).values()];
    return { docs: unique.slice(0, mostFound), hasMore };
  };
  return useRead(['list', slug, { found: words }], read, { enabled: isOpen, keep: true });
}
