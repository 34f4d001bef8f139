import type { Page } from '../../../client/index.ts';

/** Reads all pages of a list: for lists that the service bounds, and that are shown or searched as a whole. */
export async function everyEntry<Entry>(
  read: (query: { limit: number; page: number }) => Promise<Page<Entry>>,
): Promise<Entry[]> {
  const all: Entry[] = [];
  for (let page: number | null = 1; page !== null; ) {
    const { docs, nextPage }: Page<Entry> = await read({ limit: 100, page });
    all.push(...docs);
    page = nextPage;
  }
  return all;
}
