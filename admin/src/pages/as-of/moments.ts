const day = 24 * 60 * 60 * 1000;

/** A moment some days before another. */
export function withDaysAgo(from: Date, days: number): Date {
  return new Date(from.getTime() - days * day);
}

/** The first moment of a year, in the zone of the browser. */
export function startOfYear(of: Date): Date {
  return new Date(of.getFullYear(), 0, 1);
}

/** A moment as an input of type `datetime-local` has it, in the zone of the browser; empty for one that is not a date. */
export function localText(moment: Date): string {
  if (Number.isNaN(moment.getTime())) return '';
  const local = new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

/** The text of such an input as `asOf` takes it, with its zone; null where it is empty. */
export function asOfText(local: string): string | null {
  const moment = new Date(local);
  return Number.isNaN(moment.getTime()) ? null : moment.toISOString().replace('.000Z', 'Z');
}
