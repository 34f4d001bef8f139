import { momentAt, wallClock } from '../parts/wall-clock.ts';

const day = 24 * 60 * 60 * 1000;

/**
 * The log: its length, the time of its first event, and the positions at which its newest changes of content begin, in
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

/** The moments to offer, each as `asOf` takes it. No moment is before the first event of the log. */
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

/** The moment that the form starts with: a day ago or, if the log is younger, its first whole second. */
export function suggestedMoment(first: Date | null, now: Date): Date {
  const start = first === null ? now : new Date(Math.ceil(first.getTime() / 1000) * 1000);
  return new Date(Math.min(Math.max(withDaysAgo(now, 1).getTime(), start.getTime()), now.getTime()));
}

function withDaysAgo(from: Date, days: number): Date {
  return new Date(from.getTime() - days * day);
}

/** A moment as the value of a `datetime-local` input, to the second; empty for an invalid date. */
export function localText(moment: Date): string {
  return wallClock(moment).slice(0, 'YYYY-MM-DDThh:mm:ss'.length);
}

/** The value of a `datetime-local` input as `asOf` takes it, with its zone; null if it is empty. */
export function asOfText(local: string): string | null {
  return momentAt(local)?.replace('.000Z', 'Z') ?? null;
}
