import type { Answer } from './answers.ts';

type Document = { id?: unknown; createdAt?: unknown };
type Query = { where?: object | undefined; sort?: unknown; limit?: number | undefined; asOf?: unknown };

/** Orders in which each page can begin where the one before has ended, whatever is written meanwhile. */
const directions: Record<string, 'less_than_equal' | 'greater_than_equal'> = {
  '-createdAt': 'less_than_equal',
  createdAt: 'greater_than_equal',
};

/**
 * Gives every document of a list, page after page. Pages by number would shift when a document is created or deleted between
 * two of them; so in the order of creation each page begins at the moment of the last document, and the ones of that moment that
 * were given are passed over. In other orders there are pages by number, of which nothing is given twice.
 */
export async function* everyDocument(
  read: (query: { page: number; [parameter: string]: unknown }) => Promise<Answer>,
  { where, sort = '-createdAt', limit = 100, asOf, ...rest }: Query,
): AsyncGenerator<Document> {
  const operator = directions[String(sort)];
  let moment = asOf;
  let bound: string | null = null;
  let page = 1;
  const given = new Set<unknown>();
  for (;;) {
    const bounded = operator && bound !== null ? { createdAt: { [operator]: bound } } : undefined;
    const filter = where && bounded ? { and: [where, bounded] } : (bounded ?? where);
    const { body, headers } = await read({ ...rest, where: filter, sort, limit, page, asOf: moment });
    const { docs, hasNextPage } = body as { docs: Document[]; hasNextPage: boolean };
    // A time may go on to gain events while it is today: the position that it stood for does not.
    if (asOf !== undefined) moment = headers.get('annals-position') ?? asOf;
    yield* docs.filter(({ id }) => id === undefined || !given.has(id));
    // An empty page is the last one, whatever is said.
    if (!hasNextPage || docs.length === 0) return;
    const end = docs.at(-1)?.createdAt;
    const isFurther = operator && typeof end === 'string' && end !== bound;
    if (isFurther) given.clear();
    for (const { id, createdAt } of docs) if (!isFurther || createdAt === end) given.add(id);
    page = isFurther ? 1 : page + 1;
    if (isFurther) bound = end;
  }
}
