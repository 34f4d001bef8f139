import type { Model } from '../schema/model.ts';
import { titleField, titleOf } from '../schema/titles.ts';
import { client } from './client.ts';

/** The most ids of one request. */
const most = 100;

type Ids = readonly { relationTo: string; id: string }[];

/**
 * The titles of related documents, by `<collection>/<id>`, as of a moment if one is given. Those that are gone, or that the user
 * may not read, are missing.
 */
export async function readTitles(model: Model, ids: Ids, reading: { signal: AbortSignal; asOf?: string | number }) {
  const titles = new Map<string, string>();
  const byCollection = Map.groupBy(ids, ({ relationTo }) => relationTo);
  await Promise.all(
    [...byCollection].map(async ([slug, own]) => {
      const collection = model.collections.get(slug);
      if (!collection?.access.read) return;
      const unique = [...new Set(own.map(({ id }) => id))].slice(0, most);
      const options = {
        ...reading,
        where: { id: { in: unique } },
        select: titleField(collection),
        limit: most,
      } as const;
      for (const document of (await client.collection(slug).find({ ...options, count: 'none' })).docs) {
        titles.set(`${slug}/${document.id}`, titleOf(collection, document));
      }
    }),
  );
  return titles;
}
