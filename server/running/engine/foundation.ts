import { type SegmentSizes, usualSizes } from '../../../events/segments/segment-writer.ts';
import { createClock, newClockCell } from '../../../events/store/clock.ts';
import { createIds } from '../../../events/store/ids.ts';
import type { Progress } from '../../../projections/start/rebuild.ts';
import { logFile } from '../../../projections/tables/files.ts';
import { createRowMarks } from '../../../projections/tables/row-marks.ts';
import { blobSettingsOf } from '../../files/blobs/store.ts';
import type { Log } from '../../platform/logging.ts';
import { createMeter } from '../../platform/meter.ts';
import { createParts, type Parts } from '../../platform/parts.ts';
import { agreementIn, createState } from '../../platform/state.ts';
import type { Reloading } from '../../ports.ts';
import type { Settings } from '../../settings/settings.ts';
import { findSegmentsOf } from '../../writer/segment-store.ts';
import { openDirectory } from '../directory.ts';
import type { NodeVault } from '../nodes/vault.ts';
import type { EngineConfiguration } from './engine-client.ts';

/** The settings, the configuration and the callbacks of an engine. */
export type EngineOptions = {
  settings: Settings;
  loaded: EngineConfiguration;
  /** Reads the configuration again; by default it refuses, as it must for a configuration that is an object. */
  reload?: Reloading['reload'];
  log: Log;
  /** The vault of the nodes, which the engine closes; null if the log is in the data directory. */
  node?: NodeVault | null;
  /** Called when a part has ended without which the engine answers wrongly or not at all: only a new start helps. */
  onFailure: (error: Error, message: string) => void;
  /** Called with the progress of building the read tables. */
  progress?: Progress;
  /** Called with a line when the log is brought to another format; by default the line is logged as a warning. */
  onUpgrade?: ((line: string) => void) | undefined;
  /** The name of the holder of the data directory, shown to another process that wants the directory. */
  holder?: string;
  /** True for an engine that runs a single command. It sends no mail, which a later start sends. */
  isBrief?: boolean;
  /** True for a brief engine that receives files: otherwise it leaves the store of files alone. */
  takesFiles?: boolean | undefined;
  /** When a segment of the log is due, and how large it gets. */
  sizes?: SegmentSizes;
};

/** The base of all other parts of an engine: the data directory, the cells that threads share, the clock. */
export type Foundation = ReturnType<typeof openFoundation>;

/**
 * Opens the base of an engine.
 *
 * @throws LockedError, UnwritableError or StartError as {@link openDirectory}.
 */
export function openFoundation(given: EngineOptions) {
  const options = { progress: () => {}, node: null, isBrief: false, sizes: usualSizes, ...given };
  const { settings, log, node, holder } = options;
  const parts: Parts = createParts();
  const directory = parts.add(openDirectory(settings, node, holder), ({ close }) => close());
  for (const warning of directory.warnings) log.warn(warning);
  const file = logFile(directory.path);
  const blobs = blobSettingsOf(settings);
  findSegmentsOf(file, blobs, false);
  const state = createState();
  const counter = new BigInt64Array(new SharedArrayBuffer(8));
  const clockCell = newClockCell();
  const clock = createClock(clockCell);
  return {
    options,
    parts,
    directory,
    /** The path of the log. */
    file,
    blobs,
    state,
    meter: createMeter(),
    marks: createRowMarks(),
    counter,
    clockCell,
    clock,
    ids: createIds(counter, clock.believed),
    /** The time that is believed, by all nodes if there are several; milliseconds since the epoch. */
    now: node?.now ?? clock.believed,
    /** Whether this node may write: false while the log has another configuration. */
    mayRecord: () => agreementIn(state) === 'current',
  };
}
