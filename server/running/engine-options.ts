import type { SegmentSizes } from '../../events/segments/segment-writer.ts';
import type { Progress } from '../../projections/start/rebuild.ts';
import type { Log } from '../platform/logging.ts';
import type { Reloading } from '../ports.ts';
import type { Settings } from '../settings/settings.ts';
import type { Configured } from './engine-client.ts';
import type { NodeVault } from './nodes/vault.ts';

/** The parts and callbacks of an engine. */
export type EngineOptions = {
  settings: Settings;
  /** Without a path it is an object, which no command can look at. */
  loaded: Configured;
  /** Reads the configuration again; by default it refuses, as it must for an object. */
  reload?: Reloading['reload'];
  log: Log;
  /** The vault of the nodes, which the engine closes; absent where the log is in the data directory. */
  node?: NodeVault | null;
  /** Called when a part ends without which it answers wrongly or not at all: only a new start helps. */
  onFailure: (error: Error, message: string) => void;
  /** Shows how far the read tables are, where they must be built first. */
  progress?: Progress;
  /** Is told how the log is brought to another format; by default the log of the service is. */
  onUpgrade?: ((line: string) => void) | undefined;
  /** The holder of the data directory, as another process that wants it is told. */
  holder?: string;
  /**
   * True for one that runs a single command: it sends no mail, which goes on waiting, since it would end in the middle.
   */
  isBrief?: boolean;
  /** True for a brief one that is sent files: else it leaves their store alone. */
  takesFiles?: boolean | undefined;
  /** How the log is sealed; as usual by default. */
  sizes?: SegmentSizes;
};
