import { workerData } from 'node:worker_threads';
import { categoriesIn } from '../../events/service-events/categories.ts';
import { createClock } from '../../events/store/clock.ts';
import { createIds } from '../../events/store/ids.ts';
import { boot } from '../../projections/start/boot.ts';
import { SchemaError } from '../../projections/start/schema-check.ts';
import { logFile } from '../../projections/tables/files.ts';
import { openScrubber } from '../../projections/tables/scrub.ts';
import { searchFileOf } from '../../projections/tables/search-tables.ts';
import { errorOf } from '../../storage/errors.ts';
import { advised } from '../platform/advice.ts';
import { parent } from '../platform/parent.ts';
import { stepBack } from '../platform/priority.ts';
import { giveBackAtRest } from '../platform/rest.ts';
import { openHelpers } from './helpers.ts';
import type { SharedInput, WriterInput, WriterMessage } from './messages.ts';
import { findSegmentsOf } from './segment-store.ts';
import { openStandaloneWriter } from './standalone-writer.ts';
import type { WriterDirectory } from './thread-parts.ts';

const main = parent();
const { counter, clockCell, meter, state, segmentSizes, blobs, shared, noBackup, ...options }: WriterInput = workerData;
const clock = createClock(clockCell);
const parts = { main, say, clock, ids: createIds(counter, clock.believed), meter, state, segmentSizes };

function say(message: WriterMessage): void {
  main.postMessage(message);
}

type Means = Pick<Parameters<typeof boot>[0], 'ids' | 'now' | 'isReplica'>;

function start(means: Means): WriterDirectory {
  const file = logFile(options.directory);
  findSegmentsOf(file, blobs, true);
  const booted = boot({
    ...options,
    ...means,
    onChanges: (lines) => say({ kind: 'changes', lines }),
    upgrading: { noBackup, tell: (line) => say({ kind: 'upgrade', line }) },
    onSealed: (log) => say({ kind: 'sealed', log }),
    progress: (done, total) => say({ kind: 'progress', done, total }),
    helpers: openHelpers(),
  });
  // From here on waiting for a segment would hold up writes.
  findSegmentsOf(file, blobs, false);
  const { directory } = options;
  const { schema, databases, log } = booted;
  const searchFile = searchFileOf(booted.readFile, schema);
  const scrubber = openScrubber({ directory, databases, searchFile, log });
  // Finishes the erasures of a killed process in these files before a reader opens them; the main thread finishes them
  // in other stores.
  scrubber.scrub([]);
  const { readFile, found, foundAt, upgradedFrom } = booted;
  const head = log.head();
  const categories = categoriesIn(schema);
  say({ kind: 'ready', readFile, log: head.log, size: head.size, found, foundAt, upgradedFrom, categories });
  return { ...booted, scrubber };
}

/** Starts the writer of a node, and loads the modules that only a node needs. */
async function startNode({ appliesSchema, ...shared }: SharedInput): Promise<() => void> {
  const { joinLog } = await import('./joining.ts');
  const { openNodeWriter } = await import('./node-writer.ts');
  const node = await joinLog({ ...options, ...shared, counter, clock, meter, say });
  try {
    const started = start({ ids: node.ids, now: node.clock.now, isReplica: true });
    const configured = { ...options, schema: started.schema, ids: node.ids };
    return () => openNodeWriter(started, node, { ...parts, configured, appliesSchema, marks: options.marks });
  } catch (error) {
    await node.membership.leave();
    await node.shared.close();
    throw error;
  }
}

function startAlone(): () => void {
  const started = start({ ids: parts.ids, now: clock.believed });
  return () => openStandaloneWriter(started, parts);
}

let serve: (() => void) | null = null;
try {
  serve = shared ? await startNode(shared) : startAlone();
} catch (error) {
  const isLoss = error instanceof SchemaError && error.isLoss;
  say({ kind: 'refused', message: advised(errorOf(error)), isLoss });
}
if (serve) {
  // With too few cores reads have priority: a write waits for the disk anyway.
  stepBack(5);
  giveBackAtRest();
  serve();
}
