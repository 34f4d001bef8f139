import type { Collection } from '../../../../schema/model.ts';
import { client } from '../../../../service/client.ts';
import { type Reading, useRead } from '../../../../service/queries.ts';
import { membersOf } from '../../../media/library/members.ts';
import { partsOf } from './order.ts';

/** A document that a field may point at, with what it is shown by. */
export type Target = { id: string; [member: string]: unknown };

/** How many a search gives. */
const mostFound = 20;

/** The documents of these ids that there are; undefined until they are known. */
export function useTargets(collection: Collection, ids: readonly string[]) {
  const { slug } = collection;
  const select = membersOf(collection);
  const read = async (reading: Reading) => {
    const pages = partsOf(ids).map((part) =>
      client
        .collection(slug)
        .find({ ...reading, where: { id: { in: part } }, select, limit: part.length, count: 'none' }),
    );
    return (await Promise.all(pages)).flatMap(({ docs }): Target[] => docs);
  };
  return useRead(['list', slug, { targets: ids }], read, { enabled: ids.length > 0, keep: true });
}

/**
 * The documents that a search finds, the best first; without words the first of the collection. The last word is the
 * beginning of one: where too many begin so, those that hold the words whole come first, for a title that is typed to
 * its end has to be among them.
 */
export function useFound(collection: Collection, words: string, isOpen: boolean) {
  const { slug } = collection;
  const query = { select: membersOf(collection), limit: mostFound, count: 'none' as const };
  const read = async (reading: Reading) => {
    // A search knows only the documents of today, and nothing is chosen in the past.
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
