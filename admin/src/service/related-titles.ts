import { type Model, viewOf } from '../schema/model.ts';
import { type Related, titleField, titleOf } from '../schema/titles.ts';
import { client } from './client.ts';
import { useModel } from './model.tsx';
import { type Reading, useRead } from './queries.ts';

/** The most ids of one request. */
const most = 100;

/**
 * The titles of related documents, by `<collection>/<id>`, as of a moment if one is given. Documents that are gone, or
 * that the user may not read, are missing.
 */
export async function readTitles(
  model: Model,
  ids: readonly Related[],
  reading: Omit<Reading, 'asOf'> & { asOf?: string | number },
) {
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
        ...viewOf(collection),
      } as const;
      for (const document of (await client.collection(slug).find({ ...options, count: 'none' })).docs) {
        titles.set(`${slug}/${document.id}`, titleOf(collection, document));
      }
    }),
  );
  return titles;
}

/** The titles of related documents as of the moment that the application shows; empty until they are read. */
export function useTitles(ids: readonly Related[]): ReadonlyMap<string, string> {
  const model = useModel();
  const { data } = useRead(['titles', ids], (reading) => readTitles(model, ids, reading), {
    enabled: ids.length > 0,
    staleTime: 60_000,
  });
  return data ?? new Map();
}
