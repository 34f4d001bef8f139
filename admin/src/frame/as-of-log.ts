import type { LogEvent } from '../../../client/index.ts';
import { client } from '../service/client.ts';
import { readNewestChanges } from '../service/newest-changes.ts';
import { useOwnRead } from '../service/queries.ts';
import type { LogFacts } from './as-of-moments.ts';

/** The facts of the log from which moments are offered; undefined until they are read. */
export function useLogFacts(): LogFacts | undefined {
  return useOwnRead(['changes', 'moments'], ({ signal }) => readLogFacts(signal)).data;
}

async function readLogFacts(signal: AbortSignal): Promise<LogFacts> {
  const { docs: events, size } = await client.audit.events({ signal, limit: 1 });
  const changes = await readNewestChanges(size, signal);
  const first = events[0]?.header.recordedAt;
  return { size, first: first === undefined ? null : new Date(first), changes: changes.map(startOf) };
}

/** The position of a change; for a change of a batch, the position of the first change of that batch. */
function startOf({ header }: LogEvent, _index: number, all: readonly LogEvent[]): number {
  const first = header.batch === undefined ? null : all.find((other) => other.header.batch === header.batch);
  return (first?.header ?? header).position;
}
