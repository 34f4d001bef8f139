import type { Schema } from '../../config/schema.ts';
import { schemaStream } from '../../events/facts/catalogue.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { compileUpcaster } from '../../events/facts/upcasters.ts';
import { catchUp } from '../../projections/start/rebuild.ts';
import { epochsOf } from '../../projections/tables/epochs.ts';
import { openProjector } from '../../projections/tables/projector.ts';
import type { RowMarks } from '../../projections/tables/row-marks.ts';
import { tablesOf } from '../../projections/tables/tables.ts';
import type { Started } from './thread-parts.ts';

/** @param onApplied is told when they have the event by which the log has this schema. */
type Options = { started: Omit<Started, 'scrubber'>; schema: Schema; marks: RowMarks; onApplied: () => void };

/** The read tables of a node. */
export type ReadTables = ReturnType<typeof openReadTables>;

/** The read tables of a node, which follow its replica. */
export function openReadTables({ started, schema, marks, onApplied }: Options) {
  const { log, databases } = started;
  let { projector } = started;
  let position = projector.checkpoint()?.position ?? 0;
  let isApplied = false;

  /** Takes in what the replica has, by whichever node it was recorded. @param recorded the last events of it. */
  function apply(recorded: readonly RecordedEvent[]): void {
    if (recorded.some(({ header }) => header.stream === schemaStream)) {
      // Only now is it known from where on events are those of this schema.
      projector = openProjector(databases[1], tablesOf(schema), compileUpcaster(epochsOf(log)), { marks });
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
    /** Up to where they are; behind the replica while there is no room for them. */
    position: () => position,
  };
}
