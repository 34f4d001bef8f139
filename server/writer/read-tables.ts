import type { Schema } from '../../config/schema.ts';
import { schemaStream } from '../../events/facts/catalogue.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { compileUpcaster } from '../../events/facts/upcasters.ts';
import { catchUp } from '../../projections/start/rebuild.ts';
import { epochsOf } from '../../projections/tables/epochs.ts';
import { openProjector } from '../../projections/tables/projector.ts';
import type { RowMarks } from '../../projections/tables/row-marks.ts';
import { tablesOf } from '../../projections/tables/tables.ts';
import type { WriterDirectory } from './thread-parts.ts';

type Options = {
  started: Omit<WriterDirectory, 'scrubber'>;
  schema: Schema;
  marks: RowMarks;
  /** Called when the read tables have the event that brings this schema into the log. */
  onApplied: () => void;
};

/** The read tables of a node. */
export type NodeReadTables = ReturnType<typeof openReadTables>;

/** Opens the read tables of a node, to which the events of its replica are applied. */
export function openReadTables({ started, schema, marks, onApplied }: Options) {
  const { log, databases } = started;
  let { projector } = started;
  let position = projector.checkpoint()?.position ?? 0;
  let isApplied = false;

  /** Applies the events of the replica, from whichever node. @param recorded its last events. */
  function apply(recorded: readonly RecordedEvent[]): void {
    if (recorded.some(({ header }) => header.stream === schemaStream)) {
      // The position of this event says from where on events have this schema.
      projector = openProjector(
        databases[1],
        { tables: tablesOf(schema), upcaster: compileUpcaster(epochsOf(log)) },
        { marks },
      );
      isApplied = true;
    }
    const { size, root } = log.head();
    if (position === size - recorded.length) projector.apply(recorded, root);
    else catchUp(projector, { log });
    position = size;
    if (isApplied) onApplied();
  }

  return {
    apply,
    /** The position of the read tables; behind that of the replica while the disk is full. */
    position: () => position,
  };
}
