import type { PendingSegment } from '../../../events/segments/segment-writer.ts';
import { searchTablesOf } from '../../../projections/tables/search-tables.ts';
import type { ErasureWorker } from '../../audit/erasure/worker.ts';
import { callsThrough } from '../../platform/calls.ts';
import { openArchiving } from '../../writer/archiving.ts';
import type { Following, SegmentOutcome, WriterInput } from '../../writer/messages.ts';
import type { Offloading } from '../../writer/offloading.ts';
import { type SearchWriter, startSearch } from '../../writer/search.ts';
import { createSearchCell, type SearchCell } from '../../writer/search-cell.ts';
import { startWriter } from '../../writer/writer.ts';
import type { Foundation } from './foundation.ts';

/** Parts that the writer and the search index wake, null until they are open. */
type Woken = { erasures: ErasureWorker | null; moving: Offloading | null };

/** The thread that writes the search index, and the cell it shares with the writer. */
export type EngineSearch = { thread: SearchWriter; cell: SearchCell };

/** The threads that write: the log and its read tables, segments of the log, the search index. */
export type LogWriter = ReturnType<typeof startLogWriter>;

/** Starts the threads that write. They load while the rest of the engine opens. */
export function startLogWriter(foundation: Foundation) {
  const { options, parts, directory, file, blobs } = foundation;
  const { log, node, onFailure, progress, sizes, onUpgrade } = options;
  const woken: Woken = { erasures: null, moving: null };
  const writer = parts.add(
    startWriter(
      writerInput(foundation),
      {
        progress,
        onChanges: (lines) => {
          for (const line of lines) log.warn(line);
        },
        onSealed: directory.vault.remembersSealed,
        onUpgrade: onUpgrade ?? ((line) => log.warn(line)),
        onSegmentDue: () => archiving.archive(),
        onWarning: (message) => log.warn(message),
        onErased: () => woken.erasures?.wake(),
      },
      (error) => onFailure(error, 'the writer failed, and the next start recovers from the log'),
    ),
    ({ close }) => close(),
  );

  async function keep(pending: PendingSegment): Promise<SegmentOutcome> {
    const kept = await writer.keepSegment(pending);
    if (kept.isKept) woken.moving?.wake();
    return kept;
  }

  // Closed before the writer: the last connection to the log leaves it as one file, which a reader cannot do.
  const archiving = parts.add(openArchiving({ file, sizes, blobs, keep, log }), ({ close }) => close());
  const search = startSearchIndex(foundation, woken);
  /** Resolves when the log here has all that was recorded before the call, by any node. */
  const upToDate = node ? callsThrough<Following>(writer.follow()).current : async () => {};
  return { writer, archiving, search, woken, upToDate };
}

function writerInput(foundation: Foundation): WriterInput {
  const { options, directory, blobs, state, meter, marks, counter, clockCell, ids } = foundation;
  const { settings, loaded, node, isBrief, sizes } = options;
  const { schema, rules } = loaded.model;
  return {
    directory: directory.path,
    schema,
    rules,
    counter,
    clockCell,
    marks,
    logId: `annals/${ids.next().id}`,
    signed: node ? [...node.signed] : directory.vault.logKeys.signed(),
    seals: directory.vault.seals(),
    meter,
    state,
    acceptsClock: settings.acceptClock,
    isStrict: settings.strictSchema,
    acceptsLoss: settings.acceptLoss,
    segmentSizes: isBrief ? null : sizes,
    blobs,
    noBackup: settings.noBackup,
    ...(settings.log !== undefined && {
      shared: { address: settings.log, node: settings.node, appliesSchema: settings.applySchema },
    }),
  };
}

/** Starts the search index; null if no field is indexed. The next service indexes the writes of a single command. */
function startSearchIndex({ options, parts }: Foundation, woken: Woken): EngineSearch | null {
  const { log, loaded, isBrief } = options;
  if (isBrief || searchTablesOf(loaded.model.schema).length === 0) return null;
  const cell = createSearchCell();
  const thread = startSearch(cell, { log, onCleaned: () => woken.erasures?.wake() });
  return { thread: parts.add(thread, ({ close }) => close()), cell };
}
