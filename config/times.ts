/**
 * A time of day, `HH:MM` or `HH:MM:SS`, normalised: it has seconds only if they are not 0, so that equal times are
 * equal texts, and texts sort as the times do. Undefined for any other text.
 */
export function readTime(value: string): string | undefined {
  const [, minutes, seconds] = /^((?:[01]\d|2[0-3]):[0-5]\d)(:[0-5]\d)?$/.exec(value) ?? [];
  return seconds === ':00' ? minutes : minutes && value;
}

/** A calendar date, `YYYY-MM-DD`, unchanged; undefined for any other text. */
export function readDate(value: string): string | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value)) return undefined;
  const date = new Date(`${value}T00:00:00Z`);
  // `Date` turns 30 February into 1 March.
  return Number.isNaN(date.getTime()) || !date.toISOString().startsWith(value) ? undefined : value;
}

/** A date and time with a zone, normalised to UTC with milliseconds; undefined for any other text. */
export function readDatetime(value: string): string | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(value)) return undefined;
  const time = Date.parse(value);
  if (Number.isNaN(time) || readDate(value.slice(0, 10)) === undefined) return undefined;
  const utc = new Date(time).toISOString();
  // In the first and last year an offset can make a year without four digits. Such texts would not sort as the times
  // do.
  return /^\d/.test(utc) ? utc : undefined;
}
