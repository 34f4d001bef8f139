import { momentAt, wallClock } from '../parts/wall-clock.ts';

const day = 24 * 60 * 60 * 1000;

/**
 * The log: its length, when its first event was recorded, and where its newest changes of content begin, in their
 * order.
 */
export type LogFacts = { size: number; first: Date | null; changes: readonly number[] };

/** The moments that are offered, by the names of their words. */
type Offer =
  | 'asOfBeforeLast'
  | 'asOfBeforeLastTen'
  | 'asOfToday'
  | 'asOfDayAgo'
  | 'asOfWeekAgo'
  | 'asOfMonthAgo'
  | 'asOfYearStart';

/** Moments of a log, each as `asOf` takes it: none is before its first event. */
export function momentsOf({ first, changes }: LogFacts, now: Date): [Offer, string][] {
  const beforeLast = (changes.at(-1) ?? 0) - 1;
  const beforeLastTen = (changes.at(-10) ?? 0) - 1;
  const positions: [Offer, number][] = [
    ['asOfBeforeLast', beforeLast],
    ['asOfBeforeLastTen', beforeLastTen < beforeLast ? beforeLastTen : 0],
  ];
  const times: [Offer, Date][] = [
    ['asOfToday', new Date(now.getFullYear(), now.getMonth(), now.getDate())],
    ['asOfDayAgo', withDaysAgo(now, 1)],
    ['asOfWeekAgo', withDaysAgo(now, 7)],
    ['asOfMonthAgo', withDaysAgo(now, 30)],
    ['asOfYearStart', new Date(now.getFullYear(), 0, 1)],
  ];
  const isWithin = (moment: Date) => first !== null && moment >= first && moment < now;
  return [
    ...positions.flatMap(([name, at]): [Offer, string][] => (at >= 1 ? [[name, String(at)]] : [])),
    ...times.flatMap(([name, at]): [Offer, string][] => (isWithin(at) ? [[name, at.toISOString()]] : [])),
  ];
}

/** The moment that the form begins with: a day ago, or the first whole second of a log that is younger. */
export function suggestedMoment(first: Date | null, now: Date): Date {
  const start = first === null ? now : new Date(Math.ceil(first.getTime() / 1000) * 1000);
  return new Date(Math.min(Math.max(withDaysAgo(now, 1).getTime(), start.getTime()), now.getTime()));
}

function withDaysAgo(from: Date, days: number): Date {
  return new Date(from.getTime() - days * day);
}

/** A moment as an input of type `datetime-local` has it, to the second; empty for one that is not a date. */
export function localText(moment: Date): string {
  return wallClock(moment).slice(0, 'YYYY-MM-DDThh:mm:ss'.length);
}

/** The text of such an input as `asOf` takes it, with its zone; null where it is empty. */
export function asOfText(local: string): string | null {
  return momentAt(local)?.replace('.000Z', 'Z') ?? null;
}
