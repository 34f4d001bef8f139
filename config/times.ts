/**
 * A time of day, `HH:MM` or `HH:MM:SS`, in its one form: with seconds only where they are not 0, so that equal times
 * are equal texts, and texts have the order of times. Undefined for another text.
 */
export function readTime(value: string): string | undefined {
  const [, minutes, seconds] = /^((?:[01]\d|2[0-3]):[0-5]\d)(:[0-5]\d)?$/.exec(value) ?? [];
  return seconds === ':00' ? minutes : minutes && value;
}

/** A calendar date, `YYYY-MM-DD`, as it is; undefined for another text. */
export function readDate(value: string): string | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value)) return undefined;
  const date = new Date(`${value}T00:00:00Z`);
  // Date makes 1 March of 30 February.
  return Number.isNaN(date.getTime()) || !date.toISOString().startsWith(value) ? undefined : value;
}

/** A date and time with a zone, normalised to UTC with milliseconds; undefined for another text. */
export function readDatetime(value: string): string | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(value)) return undefined;
  const time = Date.parse(value);
  if (Number.isNaN(time) || readDate(value.slice(0, 10)) === undefined) return undefined;
  const utc = new Date(time).toISOString();
  // An offset can push the first and the last year out of four digits, where texts no longer sort as times.
  return /^\d/.test(utc) ? utc : undefined;
}
