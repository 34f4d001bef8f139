import type { CheckpointChange } from '../../events/proof/checkpoints.ts';
import { openCleaning } from './cleaning.ts';
import type { WorkOrder } from './inbox.ts';
import { notify } from './search-cell.ts';
import { keepSegments } from './segment-keeping.ts';
import type { Refusals, ThreadParts, WriterDirectory } from './thread-parts.ts';

/** The orders that change files of the data directory without a command. */
type MaintenanceOrder = Extract<WorkOrder, { kind: 'search' | 'checkpoint' | 'scrub' | 'segment' }>;

/** The work of a writer between its batches: it keeps checkpoints and segments, and cleans files. */
export type Maintenance = ReturnType<typeof openMaintenance>;

type Options = {
  parts: ThreadParts;
  refusals: Refusals;
  /** Runs what writes to the log at a time when the writer does not. */
  between: (run: () => void) => void;
};

/** Opens the maintenance of a data directory. */
export function openMaintenance({ log, scrubber }: Pick<WriterDirectory, 'log' | 'scrubber'>, options: Options) {
  const { between, refusals } = options;
  const { say, segmentSizes } = options.parts;
  let notifySearch: (() => void) | null = null;
  const cleaning = openCleaning({
    scrubber,
    isSearchKept: () => notifySearch !== null,
    onProgress: (progress) => say({ kind: 'cleaning', ...progress }),
    onEnd: (scrubbed) => say({ kind: 'scrubbed', scrubbed }),
    between,
  });
  const segments = keepSegments(log, {
    sizes: segmentSizes,
    onDue: () => say({ kind: 'segment-due' }),
    onFailure: refusals.throwUnlessPassing,
    between,
  });

  function take(order: MaintenanceOrder): void {
    switch (order.kind) {
      case 'search':
        notifySearch = () => {
          if (notify(order.cell)) order.port.postMessage(null);
        };
        return;
      case 'checkpoint':
        between(() => say({ kind: 'kept', isKept: keepCheckpoint(order.change) }));
        return;
      case 'scrub':
        cleaning.take(order.remaining);
        return;
      case 'segment':
        between(() => say({ kind: 'segment', ...segments.keep(order.pending) }));
    }
  }

  function keepCheckpoint(change: CheckpointChange): boolean {
    try {
      log.keepCheckpoint(change);
      return true;
    } catch (error) {
      refusals.throwUnlessPassing(error);
      return false;
    }
  }

  return {
    take,
    /** To be called after each batch. */
    noteBatch: cleaning.noteBatch,
    /** To be called when the log has grown. */
    noteEvents(): void {
      notifySearch?.();
      segments.look();
    },
    close(): void {
      cleaning.stop();
      segments.close();
    },
  };
}
