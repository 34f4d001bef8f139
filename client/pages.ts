import type { Answer } from './answers.ts';

/**
 * Gives every document of a list, `limit` in each call: each begins where the one before has ended, whatever is written
 * meanwhile.
 */
export async function* everyDocument(
  read: (query: { after: string; [parameter: string]: unknown }) => Promise<Answer>,
  { limit = 100, ...rest }: { limit?: number | undefined; q?: string | undefined; sort?: unknown },
): AsyncGenerator<unknown> {
  // The order by how well documents fit has no place to go on from.
  const sort = rest.sort ?? (rest.q === undefined ? undefined : '-createdAt');
  for (let after: string | null = ''; after !== null; ) {
    const { body }: Answer = await read({ ...rest, sort, limit, count: 'none', after });
    const { docs, nextCursor } = body as { docs: unknown[]; nextCursor: string | null };
    yield* docs;
    // An empty page is the last one, whatever is said.
    after = docs.length === 0 ? null : nextCursor;
  }
}
