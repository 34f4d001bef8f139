import { momentAt, wallClock } from '../parts/wall-clock.ts';

const day = 24 * 60 * 60 * 1000;

/** A moment some days before another. */
export function withDaysAgo(from: Date, days: number): Date {
  return new Date(from.getTime() - days * day);
}

/** The first moment of a year, in the zone of the browser. */
export function startOfYear(of: Date): Date {
  return new Date(of.getFullYear(), 0, 1);
}

/** A moment as an input of type `datetime-local` has it, to the second; empty for one that is not a date. */
export function localText(moment: Date): string {
  return wallClock(moment).slice(0, 'YYYY-MM-DDThh:mm:ss'.length);
}

/** The text of such an input as `asOf` takes it, with its zone; null where it is empty. */
export function asOfText(local: string): string | null {
  return momentAt(local)?.replace('.000Z', 'Z') ?? null;
}
