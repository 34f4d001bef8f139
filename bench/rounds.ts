import type { Call } from './load.ts';
import { type Load, type LoadOptions, load } from './load.ts';
import type { Server } from './processes.ts';
import { type Cell, median, round } from './report.ts';

/** One side of a comparison. */
export type Side = { name: string; server: Server; calls: readonly Call[]; key?: string };

/** The number of rounds, and the duration of each. */
export type Plan = { rounds: number; seconds: number };

/**
 * Loads the sides in turn, A B A B …, after a short warm-up each, so that a machine that is slow for a while is slow
 * for all sides. Returns the medians.
 */
export async function compare(sides: readonly Side[], plan: Plan, connections = 32): Promise<Load[]> {
  const measure = ({ server, calls, key }: Side, seconds: number) => {
    const options: LoadOptions = { connections, seconds, ...(key === undefined ? {} : { key }) };
    return load(server, calls, options);
  };
  for (const side of sides) await measure(side, 2);
  const taken: Load[][] = sides.map(() => []);
  for (let count = 0; count < plan.rounds; count += 1) {
    for (const [index, side] of sides.entries()) taken[index]?.push(await measure(side, plan.seconds));
  }
  return taken.map(mediansOf);
}

/** The median of each figure, and the sum of errors. */
export function mediansOf(loads: readonly Load[]): Load {
  const of = (name: keyof Load) => median(loads.map((one) => one[name]));
  return {
    perSecond: of('perSecond'),
    p50: of('p50'),
    p99: of('p99'),
    cpu: of('cpu'),
    requests: of('requests'),
    errors: loads.reduce((sum, { errors }) => sum + errors, 0),
  };
}

export const loadColumns = ['', 'requests/s', 'p50 ms', 'p99 ms', 'server CPU µs/request', 'errors'];

export function loadRow(name: string, { perSecond, p50, p99, cpu, errors }: Load): Cell[] {
  return [name, round(perSecond), round(p50 / 1000), round(p99 / 1000), round(cpu), errors];
}
