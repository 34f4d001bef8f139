import type { MessagePort } from 'node:worker_threads';
import type { Command } from '../../events/facts/log.ts';
import { SegmentOffloadedError } from '../../events/segments/offloaded.ts';
import type { Clock } from '../../events/store/clock.ts';
import type { Ids } from '../../events/store/ids.ts';
import { isMovedAway } from '../../events/store/moved.ts';
import type { BootResult } from '../../projections/start/boot.ts';
import type { Scrubber } from '../../projections/tables/scrub.ts';
import { messageOf } from '../../storage/errors.ts';
import { isBusy, isDiskFull, isOutOfFiles, isUnopened } from '../../storage/sqlite.ts';
import { type StateCell, setFull } from '../platform/state.ts';
import type { WriteFailure, WriterAnswer, WriterInput, WriterMessage } from './messages.ts';

/** A data directory that a writer has opened. */
export type WriterDirectory = BootResult & { scrubber: Scrubber };

/** The surroundings of a writer: the port to the main thread, the clock, and parts of the start data. */
export type ThreadParts = Pick<WriterInput, 'meter' | 'state' | 'segmentSizes'> & {
  main: MessagePort;
  say: (message: WriterMessage) => void;
  clock: Clock;
  ids: Ids;
};

/** The answer to a command that an error has undone by itself, and not with its batch. */
export function answerOf(error: Error): WriterAnswer {
  const { message } = error;
  if (error instanceof SegmentOffloadedError)
    return { ok: false, failure: 'offloaded', message, missing: error.missing };
  if (isMovedAway(error)) return { ok: false, failure: 'moved', message };
  return { ok: false, failure: isOutOfFiles(error) ? 'unreachable' : 'internal', message };
}

/** The same answer to all commands of a batch. */
export function answersTo(commands: readonly Command[], failure: WriteFailure): WriterAnswer[] {
  return commands.map(() => ({ ok: false, failure, message: '' }));
}

/** Tells the errors that pass from all others. */
export type Refusals = ReturnType<typeof refusalsOf>;

/** @param state is told that the disk is full. */
export function refusalsOf(state: StateCell) {
  /**
   * The answer to all commands of a batch after an error that may pass, such as a full disk or too many open files.
   *
   * @throws any other error, such as a failed fsync: it leaves no state to trust, so the writer must stop.
   */
  function failure(error: unknown, kind: 'full' | 'unread') {
    const message = messageOf(error);
    if (isMovedAway(error)) return { ok: false, failure: 'moved', message } as const;
    // A command that moves the log has it to itself for a moment.
    if (kind === 'full' && isBusy(error)) return { ok: false, failure: 'unreachable', message } as const;
    // A statement could not open its temporary file, and was undone with its transaction.
    if (isOutOfFiles(error) || isUnopened(error))
      return { ok: false, failure: kind === 'full' ? 'unreachable' : kind, message } as const;
    if (!isDiskFull(error)) throw error;
    setFull(state, true);
    return { ok: false, failure: kind, message } as const;
  }

  return {
    failure,
    /** @throws the error, unless it may pass. */
    throwUnlessPassing(error: unknown): void {
      failure(error, 'full');
    },
  };
}
