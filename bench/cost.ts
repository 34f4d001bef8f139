import { join } from 'node:path';
import { createRandom } from './content.ts';
import { creates } from './create.ts';
import type { Call } from './load.ts';
import { type Server, startAnnals, startFloor } from './processes.ts';
import { prepare, reads } from './read.ts';
import { median, round, table } from './report.ts';
import { ratioOf, type SlicedSide, slicesOf } from './slices.ts';

const path = '/api/collections/posts';

/** The requests that are measured, and how many a slice has: some tens of milliseconds. */
const operations = {
  R1: { requests: 1500, what: 'read by id' },
  R2: { requests: 1000, what: 'list of 10' },
  R6: { requests: 500, what: 'list of 10 with their authors' },
  R8: { requests: 300, what: 'list of 100' },
  W1: { requests: 200, what: 'create' },
} as const;

export type Measured = keyof typeof operations;

/** A side, and what its requests name. */
type Known = { server: Server; prefix: string; ids: readonly string[]; authors: readonly string[] };

/** `checkout`: another one of this project, to compare with; null for none. `only`: what is measured; by default all. */
type Options = { cycles: number; checkout: string | null; only?: readonly string[] | undefined };

/** CPU of a request against the floor, by slices; request logs on, one thread. */
export async function cost(
  folder: string,
  { cycles, checkout, only = Object.keys(operations) }: Options,
): Promise<void> {
  const { data, floor, ids, authors } = prepare(folder);
  const other = checkout === null ? null : prepare(join(folder, 'other'), checkout);
  const sides: Known[] = [{ server: await startFloor(floor), prefix: '/docs', ids, authors }];
  try {
    sides.push({ server: await startAnnals(data, join(folder, 'annals'), { threads: 1 }), prefix: path, ids, authors });
    if (other && checkout !== null) {
      const server = await startAnnals(other.data, join(folder, 'beside'), { threads: 1, checkout });
      sides.push({ server, prefix: path, ids: other.ids, authors: other.authors });
    }
    const rows = [];
    for (const name of (Object.keys(operations) as Measured[]).filter((one) => only.includes(one))) {
      const { requests, what } = operations[name];
      const sliced = sides.map((side): SlicedSide => ({ server: side.server, next: callsOf(name, side) }));
      await slicesOf(sliced, { cycles: 5, requests });
      const [bare = [], ours = [], theirs = []] = await slicesOf(sliced, { cycles, requests });
      const { median: ratio, low, high } = ratioOf(bare, ours);
      const cells = [`${name} ${what}`, ...[median(bare), median(ours), ratio, low, high].map(round)];
      if (checkout !== null) {
        const beside = ratioOf(ours, theirs);
        cells.push(...[median(theirs), beside.median, beside.low, beside.high].map(round));
      }
      rows.push(cells);
    }
    const columns = ['CPU µs/request', 'floor', 'Annals', 'of the floor', 'low', 'high'];
    if (checkout !== null) columns.push('the other', 'Annals of the other', 'low', 'high');
    table(`CPU of a request, ${cycles} slices of each side in turn`, columns, rows);
  } finally {
    for (const { server } of sides) await server.stop();
  }
}

function callsOf(name: Measured, side: Known): () => Call {
  const { prefix, ids, authors } = side;
  const list = (query: string) => () => ({ method: 'GET', path: `${prefix}?${query}` });
  switch (name) {
    case 'R1':
      return inTurn(reads(`${prefix}/`, ids));
    case 'R2':
      return list('limit=10');
    case 'R6':
      return list('limit=10&depth=1');
    case 'R8':
      return list('limit=100');
    case 'W1':
      return newPosts(prefix, authors);
  }
}

function inTurn(calls: readonly Call[]): () => Call {
  let at = 0;
  return () => calls[at++ % calls.length] as Call;
}

function newPosts(prefix: string, authors: readonly string[]): () => Call {
  const next = inTurn(creates(prefix, authors));
  const run = Math.floor(createRandom(Date.now())() * 1e9);
  let count = 0;
  return () => {
    const { body, ...call } = next();
    count += 1;
    return { ...call, body: { ...body, slug: `new-${run}-${count}` } };
  };
}
