import type { Logger } from 'pino';
import { inWords } from '../../events/facts/durations.ts';
import { type Clock, jumpMilliseconds } from '../../events/store/clock.ts';
import { every } from '../platform/ticks.ts';

/** An observation of the clocks, in milliseconds. */
type Sight = {
  /** By the steady clock. */
  at: number;
  /** How far the wall clock is ahead of the believed time. */
  lead: number;
  /** How far recorded times are ahead of the wall clock. */
  lag: number;
};

/** The observations so far: since when and how far the wall clock is ahead, and whether it is behind the last event. */
type Watch = { jump: { since: number; lead: number } | null; isBehind: boolean };

/** The consequence of an observation. */
type Judgement = {
  watch: Watch;
  /** Whether the wall clock is believed from now on. */
  believes: boolean;
  /** Lines for the log, by level. */
  says: { level: 'info' | 'warn' | 'error'; message: string }[];
};

/** A jump that has lasted for this time is not a mistake that a time service corrects. */
const patienceMilliseconds = 60_000;

/** A larger jump is believed only by a new start of the service. */
const largestJump = 7 * 24 * 3600 * 1000;

export const unwatched: Watch = { jump: null, isBehind: false };

/**
 * Judges the wall clock. A jump ahead of up to a minute is believed at once. A larger one is believed when it has
 * lasted for a minute, as after the pause of a virtual machine, unless it is of more than a week. The clock may go back
 * as far as it likes: recorded times do not.
 */
export function judge(watch: Watch, { at, lead, lag }: Sight): Judgement {
  const says: Judgement['says'] = [];
  let { jump, isBehind } = watch;
  let believes = lead <= jumpMilliseconds;
  if (believes) {
    if (jump) says.push({ level: 'warn', message: 'the clock is right again: writes go on' });
    jump = null;
  } else if (!jump || Math.abs(lead - jump.lead) > jumpMilliseconds) {
    jump = { since: at, lead };
    says.push({ level: 'error', message: jumped(lead) });
  } else if (lead <= largestJump && at - jump.since >= patienceMilliseconds) {
    believes = true;
    jump = null;
    says.push({
      level: 'warn',
      message: `the clock has stayed ahead by ${inWords(lead)}: it is believed, writes go on`,
    });
  }
  if (isBehind !== lag > jumpMilliseconds) {
    isBehind = !isBehind;
    says.push(isBehind ? { level: 'warn', message: behind(lag) } : { level: 'info', message: caughtUp });
  }
  return { watch: { jump, isBehind }, believes, says };
}

function jumped(lead: number): string {
  const next =
    lead <= largestJump
      ? 'or has stayed so for a minute'
      : 'or, if it is right now and was wrong before, until the service is started again';
  return `the clock has jumped ahead by ${inWords(lead)}: writes are refused until it is put back, ${next}`;
}

/** The lines about a clock that is behind the last event. */
function behind(lag: number): string {
  return (
    `the clock is behind the last event by ${inWords(lag)}: what is recorded has the time of that one until the clock has ` +
    'come there; annals clock correct --help says what to do where that event was recorded by a wrong clock'
  );
}

/**
 * After this time without an event, either the service was stopped or the clock is wrong: only the operator can tell.
 */
const restedMilliseconds = 30 * 24 * 3600 * 1000;

/** Warns at a start of a clock that is far ahead of the last event. @param foundAt when that was recorded. */
export function warnOfRest(log: Logger, { foundAt, now }: { foundAt: string; now: number }): void {
  const ahead = now - Date.parse(foundAt);
  if (!(ahead > restedMilliseconds)) return;
  log.warn(
    `the last event was recorded at ${foundAt}, and the clock of this machine says ${new Date(now).toISOString()}, ${inWords(ahead)} ` +
      'later: if the clock is wrong, stop the service and set it right, for what is recorded now has that time; annals clock correct ' +
      '--help says what to do then',
  );
}

const caughtUp = 'the clock has come to the time of the last event again';

type Options = {
  clock: Clock;
  /** The time of the last event, milliseconds since the epoch. */
  newest: () => number;
  log: Logger;
  milliseconds?: number;
};

/** Checks the clock each second. @returns ends the checks. */
export function watchClock({ clock, newest, log, milliseconds = 1000 }: Options): () => void {
  let watch = unwatched;
  return every(milliseconds, () => {
    const lead = clock.lead();
    const judgement = judge(watch, { at: performance.now(), lead, lag: newest() - Date.now() });
    watch = judgement.watch;
    for (const { level, message } of judgement.says) log[level](message);
    if (judgement.believes) clock.believe(lead);
  });
}
