import type { MessagePort } from 'node:worker_threads';
import { SegmentOffloadedError } from '../../events/segments/offloaded.ts';
import type { Clock } from '../../events/store/clock.ts';
import type { Ids } from '../../events/store/ids.ts';
import { isMovedAway } from '../../events/store/moved.ts';
import type { Booted } from '../../projections/start/boot.ts';
import type { Scrubber } from '../../projections/tables/scrub.ts';
import { messageOf } from '../../storage/errors.ts';
import { isBusy, isDiskFull, isOutOfFiles, isUnopened } from '../../storage/sqlite.ts';
import { type StateCell, setFull } from '../platform/state.ts';
import type { WriterAnswer, WriterInput, WriterMessage } from './messages.ts';

/** The data directory as the writer has opened it. */
export type Started = Booted & { scrubber: Scrubber };

/** The surroundings of the writer: its thread, the clock, and what it was started with. */
export type ThreadParts = Pick<WriterInput, 'meter' | 'state' | 'sealing'> & {
  main: MessagePort;
  say: (message: WriterMessage) => void;
  clock: Clock;
  ids: Ids;
};

/** A command in the queue. */
export type Queued = { from: MessagePort; id: number; command: string };

/** The answer to a command that was undone alone, by an error that no check foresaw. */
export function internal(error: Error): WriterAnswer {
  const { message } = error;
  if (error instanceof SegmentOffloadedError)
    return { ok: false, failure: 'offloaded', message, missing: error.missing };
  if (isMovedAway(error)) return { ok: false, failure: 'moved', message };
  return { ok: false, failure: isOutOfFiles(error) ? 'unreachable' : 'internal', message };
}

/** Makes what tells errors that pass from all others. No room is noted in the cell. */
export function refusalsOf(state: StateCell) {
  /**
   * No room, and too many open files, are answered and may pass. Anything else, a failed fsync first of all, leaves no
   * state to trust: stop.
   */
  function failure(error: unknown, kind: 'full' | 'unread') {
    const message = messageOf(error);
    if (isMovedAway(error)) return { ok: false, failure: 'moved', message } as const;
    // A command that moves the log has it to itself for a moment.
    if (kind === 'full' && isBusy(error)) return { ok: false, failure: 'unreachable', message } as const;
    // A temporary file of a statement, which was undone with all that was to be committed with it.
    if (isOutOfFiles(error) || isUnopened(error))
      return { ok: false, failure: kind === 'full' ? 'unreachable' : kind, message } as const;
    if (!isDiskFull(error)) throw error;
    setFull(state, true);
    return { ok: false, failure: kind, message } as const;
  }

  return {
    failure,
    /** @throws unless it passes. */
    failsOnly(error: unknown): void {
      failure(error, 'full');
    },
  };
}
