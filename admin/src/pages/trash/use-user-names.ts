import type { Actor } from '../../../../client/index.ts';
import { titleField, titleOf } from '../../schema/titles.ts';
import { client } from '../../service/client.ts';
import { useModel } from '../../service/model.tsx';
import { useRead } from '../../service/queries.ts';

/** The names of users among actors, by the id that events give them: `<slug>/<id>`. Those that cannot be read are not there. */
export function useUserNames(actors: readonly (Actor | null)[]): ReadonlyMap<string, string> {
  const { collections } = useModel();
  const users = actors.filter((actor) => actor?.type === 'user').flatMap((actor) => actor?.id ?? []);
  const bySlug = Map.groupBy([...new Set(users)].sort(), (user) => user.split('/', 1)[0] ?? '');
  const { data } = useRead(
    ['list', 'names', [...bySlug]],
    async ({ signal }) => {
      const read = [...bySlug].map(async ([slug, own]) => {
        const collection = collections.get(slug);
        if (!collection?.access.read) return [];
        const ids = own.map((user) => user.slice(slug.length + 1));
        const query = {
          where: { id: { in: ids } },
          select: [titleField(collection)],
          limit: 100,
          count: 'none',
          signal,
        };
        const { docs } = await client.collection(slug).find(query as never);
        return (docs as { id: string }[]).map((user) => [`${slug}/${user.id}`, titleOf(collection, user)] as const);
      });
      return new Map((await Promise.all(read)).flat());
    },
    { enabled: users.length > 0, staleTime: 60_000 },
  );
  return data ?? new Map();
}
