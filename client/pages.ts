import type { Answer } from './answers.ts';

/**
 * Yields every document of a list, with `limit` documents for each call. Each call continues where the one before
 * ended, even if documents are written in between.
 */
export async function* everyDocument(
  read: (query: { after: string; [parameter: string]: unknown }) => Promise<Answer>,
  { limit = 100, ...rest }: { limit?: number | undefined; q?: string | undefined; sort?: unknown },
): AsyncGenerator<unknown> {
  // The default order of a search, best matches first, has no cursors.
  const sort = rest.sort ?? (rest.q === undefined ? undefined : '-createdAt');
  for (let after: string | null = ''; after !== null; ) {
    const { body }: Answer = await read({ ...rest, sort, limit, count: 'none', after });
    const { docs, nextCursor } = body as { docs: unknown[]; nextCursor: string | null };
    yield* docs;
    // An empty page is the last one, whatever `nextCursor` is.
    after = docs.length === 0 ? null : nextCursor;
  }
}
