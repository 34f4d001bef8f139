import { type DataField, dataFields } from '../../../schema/fields.ts';
import type { Collection } from '../../../schema/model.ts';
import { titleField } from '../../../schema/titles.ts';
import { client } from '../../../service/client.ts';
import { type Reading, useRead } from '../../../service/queries.ts';
import { askedFields, shownMembers } from '../../media/files.ts';
import { partsOf } from './relationship-order.ts';

/** A document that a field may point at, with what it is shown by. */
export type Target = { id: string; [member: string]: unknown };

/** How many a search gives. */
export const mostFound = 20;

/** The members that are read of a document to show it: its title, where the user may read that, and what a file is. */
export function membersOf(collection: Collection): string[] {
  const title = titleField(collection);
  const [first] = title.split('.', 1);
  const field = dataFields(collection.fields).find(({ name }) => name === first);
  const isReadable = field?.access?.read !== false;
  const ofFile = collection.upload ? [...shownMembers, ...readable(askedFields(collection))] : [];
  return [...new Set(['id', ...(isReadable ? [title] : []), ...ofFile])];
}

function readable(fields: readonly DataField[]): string[] {
  return fields.filter(({ access }) => access?.read !== false).map(({ name }) => name);
}

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
    return (await Promise.all(pages)).flatMap(({ docs }) => docs as unknown as Target[]);
  };
  return useRead(['list', slug, { targets: ids }], read, { enabled: ids.length > 0, keep: true });
}

/** The documents that a search finds, the best first; without words the first of the collection. */
export function useFound(collection: Collection, words: string, isOpen: boolean) {
  const { slug } = collection;
  const query = { select: membersOf(collection), limit: mostFound, count: 'none' as const };
  const read = async (reading: Reading) => {
    // A search knows only the documents of today, and nothing is chosen in the past.
    const { asOf: _, ...now } = reading;
    const page = await client.collection(slug).find({ ...now, ...query, ...(words === '' ? {} : { q: words }) });
    return { docs: page.docs as unknown as Target[], hasMore: page.hasNextPage };
  };
  return useRead(['list', slug, { found: words }], read, { enabled: isOpen, keep: true });
}
