/** A metric: its Prometheus type, its labels besides `site`, its scope (a site or the process), and its meaning. */
export type Definition = {
  type: 'counter' | 'gauge' | 'histogram';
  labels: readonly string[];
  of: 'site' | 'process';
  help: string;
};

export type MetricName = keyof typeof definitions;

/** All metrics. `docs/metrics.md` has the same table, which a test holds against this one. */
export const definitions = {
  annals_http_requests_total: {
    type: 'counter',
    labels: ['method', 'route', 'status'],
    of: 'site',
    help: 'Requests that were answered; status 499: the client did not wait',
  },
  annals_http_request_duration_seconds: {
    type: 'histogram',
    labels: ['method', 'route'],
    of: 'site',
    help: 'Time from the arrival of a request to the end of its answer',
  },
  annals_long_reads_total: {
    type: 'counter',
    labels: ['end'],
    of: 'site',
    help: 'Reads that might take long, by their end: answered, late (out of time), refused (too many waited) or dropped (the client had gone)',
  },
  annals_long_reads_waiting: {
    type: 'gauge',
    labels: [],
    of: 'process',
    help: 'Reads that might take long and wait for their turn',
  },
  annals_writer_waiting_commands: {
    type: 'gauge',
    labels: [],
    of: 'site',
    help: 'Writes that wait for the writer thread',
  },
  annals_writer_batch_commands: {
    type: 'histogram',
    labels: [],
    of: 'site',
    help: 'Writes in one commit',
  },
  annals_writer_sync_seconds: {
    type: 'histogram',
    labels: [],
    of: 'site',
    help: 'Time of the commit of a batch, most of which is an fsync',
  },
  annals_writes_refused: {
    type: 'gauge',
    labels: [],
    of: 'site',
    help: '1 while writes are refused because the disk is full, else 0',
  },
  annals_log_events: { type: 'gauge', labels: [], of: 'site', help: 'Events in the log' },
  annals_log_altered: {
    type: 'gauge',
    labels: [],
    of: 'site',
    help: '1 while the log, its claims or its read tables are known to be altered, until annals verify finds them sound; else 0',
  },
  annals_log_verified_position: {
    type: 'gauge',
    labels: [],
    of: 'site',
    help: 'Last event of the last background verification without a finding; absent before the first since the start',
  },
  annals_log_verified_age_seconds: {
    type: 'gauge',
    labels: [],
    of: 'site',
    help: 'Time since the last background verification without a finding; absent before the first since the start',
  },
  annals_file_bytes: {
    type: 'gauge',
    labels: ['file'],
    of: 'site',
    help: 'Size of a data file: log, log_wal, read, read_wal, vault, vault_wal; segments: all segment files on this disk; segments_away: all segment files that only the bucket has',
  },
  annals_disk_free_bytes: {
    type: 'gauge',
    labels: [],
    of: 'site',
    help: 'Free room for the service on the disk of the data directory',
  },
  annals_checkpoint_age_seconds: {
    type: 'gauge',
    labels: [],
    of: 'site',
    help: 'Time since the newest checkpoint was signed; absent before the first',
  },
  annals_checkpoint_unsigned_events: {
    type: 'gauge',
    labels: [],
    of: 'site',
    help: 'Events after the newest checkpoint',
  },
  annals_backup_age_seconds: {
    type: 'gauge',
    labels: [],
    of: 'site',
    help: 'Time since the last verified backup; absent before the first',
  },
  annals_backup_missing_events: {
    type: 'gauge',
    labels: [],
    of: 'site',
    help: 'Events that the last verified backup does not contain; absent before the first',
  },
  annals_mails_waiting: { type: 'gauge', labels: [], of: 'site', help: 'Mails that are not sent yet' },
  annals_webhook_deliveries: {
    type: 'gauge',
    labels: ['webhook', 'state'],
    of: 'site',
    help: 'Deliveries of a webhook that are still to be made: waiting, parked; absent before the first webhook',
  },
  annals_erasures_unfinished: {
    type: 'gauge',
    labels: [],
    of: 'site',
    help: 'Erasures that are recorded and not finished',
  },
  annals_node_lag_events: {
    type: 'gauge',
    labels: [],
    of: 'site',
    help: 'Of a node: events of the shared log that it does not have yet, by its last report',
  },
  annals_node_lag_seconds: {
    type: 'gauge',
    labels: [],
    of: 'site',
    help: 'Of a node: time since it last had all of the shared log; grows while PostgreSQL does not answer',
  },
  annals_node_connected: {
    type: 'gauge',
    labels: [],
    of: 'site',
    help: 'Of a node: 1 while its reports reach PostgreSQL, else 0',
  },
  annals_nodes: {
    type: 'gauge',
    labels: ['state'],
    of: 'site',
    help: 'Of a node: all nodes of the log: ready, joining, or absent (on the list, and not seen for 5 seconds)',
  },
  annals_log_lock_wait_seconds: {
    type: 'histogram',
    labels: [],
    of: 'site',
    help: 'Of a node: time that it waited for the lock of the shared log before a write',
  },
  annals_log_ship_seconds: {
    type: 'histogram',
    labels: [],
    of: 'site',
    help: 'Of a node: time in which PostgreSQL took a batch and committed it, on its standby too',
  },
  annals_postgres_synchronous: {
    type: 'gauge',
    labels: [],
    of: 'site',
    help: 'Of a node: 1 if commits wait for a standby (synchronous_standby_names), else 0; absent without pg_monitor',
  },
  annals_postgres_standbys: {
    type: 'gauge',
    labels: ['sync_state'],
    of: 'site',
    help: 'Of a node: standbys as the primary reports them: sync, quorum, potential or async; absent without pg_monitor',
  },
  annals_postgres_standby_lag_bytes: {
    type: 'gauge',
    labels: ['standby'],
    of: 'site',
    help: 'Of a node: write-ahead log that a standby has not applied yet; absent without pg_monitor',
  },
  annals_site_up: { type: 'gauge', labels: [], of: 'site', help: '1 while requests are answered, else 0' },
  annals_thread_restarts_total: {
    type: 'counter',
    labels: [],
    of: 'process',
    help: 'Threads that ended or were stuck, and were replaced',
  },
  annals_configuration_reloads_total: {
    type: 'counter',
    labels: ['outcome'],
    of: 'process',
    help: 'Reloads of the configuration: changed, unchanged, restart (needed, not reloaded) or wrong (refused)',
  },
  annals_event_loop_delay_seconds: {
    type: 'histogram',
    labels: ['thread'],
    of: 'process',
    help: 'Longest delay of the event loop in each second: main, http (all threads that answer requests)',
  },
  annals_process_resident_bytes: { type: 'gauge', labels: [], of: 'process', help: 'Memory of the process' },
  annals_process_cpu_seconds_total: { type: 'counter', labels: [], of: 'process', help: 'Time of all cores' },
  annals_process_start_time_seconds: {
    type: 'gauge',
    labels: [],
    of: 'process',
    help: 'Start of the process, in seconds since the epoch',
  },
  annals_build_info: {
    type: 'gauge',
    labels: ['version', 'node'],
    of: 'process',
    help: 'Always 1; the versions are in the labels',
  },
} as const satisfies Record<string, Definition>;

/** Bounds for the time of a request, in seconds. */
export const requestBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Bounds for the delay of an event loop, in seconds. */
export const delayBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
