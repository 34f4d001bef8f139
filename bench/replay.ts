import { join } from 'node:path';
import { readLog } from '../events/log/log-reader.ts';
import type { Helpers } from '../projections/start/helpers.ts';
import { buildReadFile } from '../projections/start/rebuild.ts';
import { projectionOf } from '../projections/tables/epochs.ts';
import { logFile, removeDatabase } from '../projections/tables/files.ts';
import { verifyDirectory } from '../projections/verify/verify.ts';
import { openHelpers } from '../server/writer/helpers.ts';
import { openDatabase } from '../storage/sqlite.ts';

/** The cost of replaying a log: elapsed seconds, seconds of CPU, and peak memory. */
export type Replay = { events: number; seconds: number; cpu: number; peakMiB: number };

type Work = (directory: string, helpers: Helpers | null) => number;

const works: Record<string, Work> = { rebuild, verify };

/** The work of `annals rebuild`: the read tables from the whole log. */
function rebuild(directory: string, helpers: Helpers | null): number {
  const db = openDatabase(logFile(directory), { readonly: true, cacheMiB: 64 });
  const log = readLog(db);
  const made = projectionOf(log);
  if (!made) throw new Error('the log is empty');
  const path = join(directory, 'bench-rebuild.db');
  const { size } = log.head();
  buildReadFile(path, made.projection, { log, upTo: size, helped: { helpers, db } });
  removeDatabase(path);
  db.close();
  return size;
}

/** The work of `annals verify`. */
function verify(directory: string, helpers: Helpers | null): number {
  const { finding, events } = verifyDirectory(directory, true, { log: () => {}, replay: () => {}, helpers });
  if (finding !== null) throw new Error(finding);
  return events;
}

if (import.meta.main) {
  const [name = '', directory = ''] = process.argv.slice(2);
  const started = performance.now();
  const before = process.cpuUsage();
  const events = (works[name] as Work)(directory, openHelpers());
  const { user, system } = process.cpuUsage(before);
  const replay: Replay = {
    events,
    seconds: (performance.now() - started) / 1000,
    cpu: (user + system) / 1e6,
    peakMiB: process.resourceUsage().maxRSS / 1024,
  };
  process.stdout.write(JSON.stringify(replay));
}
