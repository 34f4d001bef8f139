import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type LogReader, readLog } from '../../../events/log/log-reader.ts';
import { obstacleOf } from '../../../events/postgres/standing.ts';
import { readCheckpoints } from '../../../events/proof/checkpoints.ts';
import { namesIn } from '../../../events/segments/offload-folder.ts';
import { segmentFolder, segmentsOf } from '../../../events/segments/segments.ts';
import { webhooksFile } from '../../../projections/tables/files.ts';
import { freeBytes } from '../../../storage/disk.ts';
import { openDatabase, type Sqlite } from '../../../storage/sqlite.ts';
import { readBackupNote } from '../../platform/backup-note.ts';
import type { WriterMeter } from '../../platform/meter.ts';
import { isFull, type StateCell } from '../../platform/state.ts';
import type { Verification } from '../../ports.ts';
import { countDeliveries } from '../../webhooks/deliveries.ts';
import type { NodeStanding } from '../../writer/membership.ts';
import type { MetricName } from './definitions.ts';
import { nodeReadings } from './node-readings.ts';

/** The most erasures that are counted while they wait for other nodes. */
const most = 1000;

/** The parts of a service that its metrics are read from. */
export type MetricSources = {
  directory: string;
  logFile: string;
  readFile: string;
  meter: WriterMeter;
  state: StateCell;
  /** The time that the service believes, in milliseconds since the epoch. */
  now: () => number;
  /** The state of all nodes by the last report; null for a service with a log of its own. */
  standing: (() => NodeStanding | null) | null;
  /** The result of the background check of the log; null before its start. */
  verification: () => Verification | null;
};

/** A value, with the labels of its metric. */
export type MetricReading = { name: MetricName; value: number; labels?: Record<string, string> };

/**
 * Reads a running service. Its files are opened for each reading and closed again: connections that stay open would
 * have to be closed before the last one of the service.
 */
export function readSite(observed: MetricSources): MetricReading[] {
  const { directory, logFile, readFile, state, standing } = observed;
  const vault = join(directory, 'vault.db');
  return [
    { name: 'annals_writes_refused', value: isFull(state) ? 1 : 0 },
    ...fileBytes({ log: logFile, read: readFile, vault }),
    ...within(logFile, segmentReadings),
    { name: 'annals_disk_free_bytes', value: freeBytes(directory) },
    ...within(logFile, (db) => logReadings(db, observed)),
    ...verificationReadings(observed),
    ...within(readFile, mailReadings),
    ...webhookReadings(webhooksFile(directory)),
    ...(standing ? nodeReadings(standing(), Date.now()) : []),
  ];
}

function fileBytes(files: Record<string, string>): MetricReading[] {
  return Object.entries(files).flatMap(([file, path]) => [
    { name: 'annals_file_bytes', value: bytesOf(path), labels: { file } },
    { name: 'annals_file_bytes', value: bytesOf(`${path}-wal`), labels: { file: `${file}_wal` } },
  ]);
}

/** Counts segments by their rows and one listing of their folder: there may be hundreds. */
function segmentReadings(db: Sqlite): MetricReading[] {
  const here = new Set(namesIn(segmentFolder(db.name)));
  const bytes = { segments: 0, segments_away: 0 };
  for (const segment of segmentsOf(db)) bytes[here.has(segment.file) ? 'segments' : 'segments_away'] += segment.bytes;
  return Object.entries(bytes).map(([file, value]) => ({ name: 'annals_file_bytes', value, labels: { file } }));
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function within(file: string, read: (db: Sqlite) => MetricReading[]): MetricReading[] {
  const db = openDatabase(file, { readonly: true, cacheMiB: 1 });
  try {
    return read(db);
  } finally {
    db.close();
  }
}

function logReadings(db: Sqlite, { directory, now, standing }: MetricSources): MetricReading[] {
  const log = readLog(db);
  const { size } = log.head();
  const [newest] = readCheckpoints(db).recent(1);
  const backup = readBackupNote(directory);
  const ageOf = (time: string) => ageAt(now(), time);
  const unfinished = unfinishedOf(log, standing?.() ?? null);
  return [
    { name: 'annals_log_events', value: size },
    { name: 'annals_erasures_unfinished', value: unfinished },
    { name: 'annals_checkpoint_unsigned_events', value: size - (newest?.size ?? 0) },
    ...(newest ? [{ name: 'annals_checkpoint_age_seconds', value: ageOf(newest.signedAt) } as const] : []),
    ...(backup
      ? ([
          { name: 'annals_backup_age_seconds', value: ageOf(backup.finishedAt) },
          { name: 'annals_backup_missing_events', value: Math.max(size - backup.position, 0) },
        ] as const)
      : []),
  ];
}

function ageAt(now: number, time: string): number {
  return Math.max((now - Date.parse(time)) / 1000, 0);
}

function verificationReadings({ verification, now }: MetricSources): MetricReading[] {
  const found = verification();
  if (!found) return [];
  const { verified, altered } = found;
  return [
    { name: 'annals_log_altered', value: altered ? 1 : 0 },
    ...(verified
      ? ([
          { name: 'annals_log_verified_position', value: verified.to },
          { name: 'annals_log_verified_age_seconds', value: ageAt(now(), verified.at) },
        ] as const)
      : []),
  ];
}

/** The erasures that are not finished here, or elsewhere. */
function unfinishedOf({ erasures }: LogReader, standing: NodeStanding | null): number {
  const here = erasures.unfinished().length;
  if (!standing) return here;
  const newest = erasures.before(Number.MAX_SAFE_INTEGER, most);
  return newest.filter(({ position, isDone }) => !isDone || obstacleOf(standing, position) !== null).length;
}

function webhookReadings(file: string): MetricReading[] {
  if (!existsSync(file)) return [];
  return within(file, (db) =>
    countDeliveries(db).flatMap(({ webhook, ...counts }) =>
      Object.entries(counts).map(([state, value]) => ({
        name: 'annals_webhook_deliveries' as const,
        value,
        labels: { webhook, state },
      })),
    ),
  );
}

function mailReadings(db: Sqlite): MetricReading[] {
  const value = db.prepare<[], number>('SELECT count(*) FROM mails').pluck().get() ?? 0;
  return [{ name: 'annals_mails_waiting', value }];
}
