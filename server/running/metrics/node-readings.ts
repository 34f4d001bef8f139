import { reportMilliseconds } from '../../../storage/postgres/durations.ts';
import type { NodeStanding } from '../../writer/membership.ts';
import type { MetricReading } from './readings.ts';

/** The readings of a node: of itself, of the other nodes and of PostgreSQL. @param time the time of this machine. */
export function nodeReadings(found: NodeStanding | null, time: number): MetricReading[] {
  if (!found) return [{ name: 'annals_node_connected', value: 0 }];
  const { own, size, nodes, now, replication, reportedAt } = found;
  const isConnected = time - reportedAt < reportMilliseconds.absent;
  const missing = Math.max(size - own.applied, 0);
  const isLevel = isConnected && missing === 0;
  const counts = { ready: 0, joining: 0, absent: 0 };
  for (const { seen, state } of nodes) counts[now - seen > reportMilliseconds.absent ? 'absent' : state] += 1;
  return [
    { name: 'annals_node_connected', value: isConnected ? 1 : 0 },
    { name: 'annals_node_lag_events', value: missing },
    { name: 'annals_node_lag_seconds', value: isLevel ? 0 : Math.max(time - own.levelAt, 0) / 1000 },
    ...Object.entries(counts).map(([state, value]) => ({ name: 'annals_nodes' as const, value, labels: { state } })),
    ...(replication ? standbyReadings(replication) : []),
  ];
}

function standbyReadings({ isSynchronous, standbys }: NonNullable<NodeStanding['replication']>): MetricReading[] {
  const states = Map.groupBy(standbys, ({ sync }) => sync);
  return [
    { name: 'annals_postgres_synchronous', value: isSynchronous ? 1 : 0 },
    ...[...states].map(([sync_state, { length }]) => ({
      name: 'annals_postgres_standbys' as const,
      value: length,
      labels: { sync_state },
    })),
    // Two standbys may have the same name.
    ...[...Map.groupBy(standbys, ({ name }) => name)].map(([standby, same]) => ({
      name: 'annals_postgres_standby_lag_bytes' as const,
      value: Math.max(...same.map(({ lagBytes }) => lagBytes)),
      labels: { standby },
    })),
  ];
}
