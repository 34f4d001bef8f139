import { show } from '../../config/suggest.ts';
import { readDate } from '../../config/times.ts';
import { inWords } from '../../events/facts/durations.ts';
import { type Correction, correctClock, isAhead } from '../../events/service-events/corrections.ts';
import { createIds } from '../../events/store/ids.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { existingLog, startErrorOf } from '../data-directory.ts';
import { type HeldDirectory, holding, openToWrite, readReason } from '../held-directory.ts';
import { printLine, refused } from '../terminal.ts';

/**
 * `annals clock correct`: exit 0 recorded, 1 there is nothing to correct or the clock is still wrong, 2 could not run.
 */
export async function correct({
  settings,
  flags,
}: CommandLine<{ today: 'string'; reason: 'string' }>): Promise<number> {
  const problems: string[] = [];
  const today = readToday(flags.today, problems);
  const reason = readReason(flags.reason, 'why its times go back', problems);
  existingLog(settings);
  const now = new Date();
  if (!now.toISOString().startsWith(`${today}T`)) {
    return refused(
      `the clock of this machine says ${now.toISOString()}, which is not on ${today} in UTC: set it right first`,
    );
  }
  // With a service there would be two writers, and its ids come from the wrong time.
  return holding(settings, 'annals clock correct', (opened) => record(opened, now.getTime(), reason));
}

function record(opened: HeldDirectory, now: number, reason: string): number {
  try {
    const correction = correctIn(opened, now, reason);
    if (!correction) return refused('the last event is not ahead of the clock: there is nothing to correct');
    const { position, recordedAt, from, before } = correction;
    const ahead = inWords(Date.parse(before) - now);
    return printLine(
      `event ${position} corrects the clock, ${ahead} back to ${recordedAt}; what was recorded from event ${from} on counts as ` +
        'recorded now',
    );
  } catch (error) {
    throw startErrorOf(error, (message) => `${message}; annals verify says more about the log`);
  }
}

function correctIn(opened: HeldDirectory, now: number, reason: string): Correction | null {
  const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), () => now);
  const { log, begin } = openToWrite(opened, ids, () => now);
  if (!isAhead(log, now)) return null;
  begin();
  return correctClock(log, { ids, now, reason });
}

/** The day guards against a clock that is still wrong: a correction by it would do more harm. */
function readToday(text: string | undefined, problems: string[]): string {
  if (text !== undefined && readDate(text) !== undefined) return text;
  problems.push(
    text === undefined
      ? '--today is missing: it says which day it is in UTC, such as 2026-11-23'
      : `--today must be a day in UTC such as 2026-11-23, got ${show(text)}`,
  );
  return '';
}
