import { clockStream } from '../facts/catalogue.ts';
import { changeOf } from '../facts/log.ts';
import type { SqliteLog } from '../log/sqlite-log.ts';
import { jumpMilliseconds } from '../store/clock.ts';
import type { Ids } from '../store/ids.ts';

/** The result of a correction of the clock: its event, and the events before it whose times are later. */
export type Correction = { position: number; recordedAt: string; from: number; before: string };

/** `ids` are the ids that the log was opened with, `now` is milliseconds since the epoch by the corrected clock. */
type CorrectionOptions = { ids: Ids; now: number; reason: string };

/**
 * Records that the clock was wrong: from this event on, times follow the clock again, though they are earlier than
 * before. The log must not be open for writing elsewhere.
 *
 * @returns null if the last event is not ahead of the clock by more than a minute: then there is nothing to correct.
 */
export function correctClock(log: SqliteLog, { ids, now, reason }: CorrectionOptions): Correction | null {
  if (!isAhead(log, now)) return null;
  const { recordedAt: before } = log.head();
  const from = log.positionAt(new Date(now).toISOString()) + 1;
  // Otherwise later ids would follow the ids of the wrong time.
  ids.restart();
  const { outcomes } = log.append([
    {
      ...changeOf(clockStream, [{ type: 'clock.corrected', data: { from, before } }]),
      actor: { type: 'system' },
      correlationId: ids.next().id,
      context: { reason },
    },
  ]);
  const [outcome] = outcomes;
  if (outcome instanceof Error) throw outcome;
  if (!outcome?.ok)
    throw new Error(`the correction was not recorded: conflict of ${outcome?.conflict ?? 'no outcome'}`);
  return { position: outcome.position, recordedAt: outcome.recordedAt, from, before };
}

/** Whether the last event is ahead of the clock by more than a minute. */
export function isAhead(log: Pick<SqliteLog, 'head'>, now: number): boolean {
  return (Date.parse(log.head().recordedAt) || 0) - now > jumpMilliseconds;
}
