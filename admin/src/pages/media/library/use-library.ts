import type { Collection } from '../../../schema/model.ts';
import { client } from '../../../service/client.ts';
import { useRead } from '../../../service/queries.ts';
import type { FileDocument } from '../files.ts';
import { membersOf } from './members.ts';
import { listOf, type View } from './query.ts';

/** Reads a page of the files of a collection. */
export function useLibrary(collection: Collection, view: View) {
  const query = { ...listOf(collection, view), select: membersOf(collection) };
  return useRead(
    ['list', collection.slug, query],
    async (reading) => {
      const page = await client.collection(collection.slug).find({ ...reading, ...query });
      return { ...page, docs: page.docs as FileDocument[] };
    },
    { keep: true },
  );
}
