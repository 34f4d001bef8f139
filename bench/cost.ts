import { join } from 'node:path';
import { createRandom } from './content.ts';
import { creates } from './create.ts';
import type { Call } from './load.ts';
import { type Server, startAnnals, startFloor } from './processes.ts';
import { prepare, reads } from './read.ts';
import { median, round, table } from './report.ts';
import { type Ratio, ratioOf, type SlicedSide, type Slices, slicesOf } from './slices.ts';

const path = '/api/collections/posts';

/**
 * The measured requests: the number of requests in a slice, which takes some tens of milliseconds, and the number of
 * cycles after which the code is compiled.
 */
const operations = {
  R1: { requests: 1500, warm: 10, name: 'read by id' },
  R2: { requests: 1000, warm: 5, name: 'list of 10' },
  R6: { requests: 500, warm: 5, name: 'list of 10 with their authors' },
  R8: { requests: 300, warm: 5, name: 'list of 100' },
  W1: { requests: 200, warm: 20, name: 'create' },
} as const;

/** The name of a measured request. */
export type Measured = keyof typeof operations;

/** The names of all measured requests. */
export const measured = Object.keys(operations) as Measured[];

/** A side, and the paths and ids of its requests. */
type Known = { server: Server; prefix: string; ids: readonly string[]; authors: readonly string[] };

/** The sides of a comparison: the floor, and services, each with its name. */
export type Sides = { floor: Known; services: ReadonlyMap<string, Known>; stop: () => Promise<void> };

/**
 * Starts the floor, and the service with request logs and one thread: unchanged, without cached reads, and from another
 * checkout.
 */
export async function startSides(folder: string, checkout: string | null): Promise<Sides> {
  const { floor, ids, authors, ...first } = prepare(folder);
  const bare: Known = { server: await startFloor(floor), prefix: '/docs', ids, authors };
  const services = new Map<string, Known>();
  const start = async (name: string, known: Pick<Known, 'ids' | 'authors'> & { data: string }, more = {}) => {
    const server = await startAnnals(known.data, join(folder, name), { threads: 1, ...more });
    services.set(name, { server, prefix: path, ids: known.ids, authors: known.authors });
  };
  await start('Annals', { ...first, ids, authors });
  await start('nothing kept', prepare(join(folder, 'second')), { environment: { ANNALS_CACHE_MIB: '0' } });
  if (checkout !== null) await start('the other', prepare(join(folder, 'third'), checkout), { checkout });
  const stop = async () => {
    for (const { server } of [bare, ...services.values()]) await server.stop();
  };
  return { floor: bare, services, stop };
}

/**
 * Starts a service that does everything in one thread. @param flags for Node. @returns `send`, which sends a number of
 * requests of one kind.
 */
export async function startAnnalsFor(folder: string, flags: readonly string[]) {
  const { data, ids, authors } = prepare(join(folder, 'alone'));
  const server = await startAnnals(data, join(folder, 'profiled'), { threads: 0, flags });
  const side: Known = { server, prefix: path, ids, authors };
  const send = (name: Measured, requests: number) =>
    slicesOf([{ server, next: callsOf(name, side) }], { cycles: 1, requests });
  return { send, stop: server.stop };
}

/** The CPU time of a request on each side, in µs, the floor first, after enough requests that the code is compiled. */
export async function measure(name: Measured, { floor, services }: Sides, cycles: number): Promise<Slices[]> {
  const { requests, warm } = operations[name];
  const sides = [floor, ...services.values()].map((known): SlicedSide => {
    return { server: known.server, next: callsOf(name, known) };
  });
  await slicesOf(sides, { cycles: warm, requests });
  return slicesOf(sides, { cycles, requests });
}

/**
 * `checkout` is another checkout of this project to compare with; null for none. `only` are the requests to measure;
 * default: all.
 */
type Options = { cycles: number; checkout: string | null; only?: readonly string[] | undefined };

/** Compares the CPU time of a request with the floor, by slices. */
export async function cost(folder: string, { cycles, checkout, only = measured }: Options): Promise<void> {
  const sides = await startSides(folder, checkout);
  try {
    const names = [...sides.services.keys()];
    const rows = [];
    for (const name of measured.filter((one) => only.includes(one))) {
      const [bare = [], ...taken] = await measure(name, sides, cycles);
      const figures = [bare, ...taken].map((slices) => round(median(slices)));
      const [first = []] = taken;
      const ofFloor = taken.map((slices) => shown(ratioOf(bare, slices)));
      const ofOther = checkout === null ? [] : [shown(ratioOf(first, taken.at(-1) ?? []))];
      rows.push([`${name} ${operations[name].name}`, ...figures, ...ofFloor, ...ofOther]);
    }
    const columns = ['', 'floor, µs', ...names.map((name) => `${name}, µs`), ...names.map((name) => `floor : ${name}`)];
    if (checkout !== null) columns.push('Annals : the other');
    table(`CPU of a request, ${cycles} slices of each side in turn; ratios with their quarters`, columns, rows);
  } finally {
    await sides.stop();
  }
}

function shown({ median: middle, low, high }: Ratio): string {
  return `${round(middle)} (${round(low)}–${round(high)})`;
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
