import type { Answer } from './answers.ts';

/**
 * Yields every document of a list, with `limit` documents for each call. Each call continues where the one before
 * ended, even if documents are written in between.
 */
export async function* everyDocument(
  read: (query: { next: string; [parameter: string]: unknown }) => Promise<Answer>,
  { limit = 100, ...rest }: { limit?: number | undefined; q?: string | undefined; sort?: unknown },
): AsyncGenerator<unknown> {
  // The default order of a search, best matches first, has no cursors.
  const sort = rest.sort ?? (rest.q === undefined ? undefined : '-createdAt');
  for (let next: string | null = ''; next !== null; ) {
    const { body }: Answer = await read({ ...rest, sort, limit, count: 'none', next });
    const page = body as { docs: unknown[]; next: string | null };
    yield* page.docs;
    // An empty page is the last one, whatever `next` is.
    next = page.docs.length === 0 ? null : page.next;
  }
}
