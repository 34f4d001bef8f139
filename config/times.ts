/**
 * A time of day, `HH:MM` or `HH:MM:SS`, in its one form: with seconds only where they are not 0, so that equal times are equal
 * texts, and texts have the order of times. Undefined for what is none. Apart from the other types, since threads that only
 * read events need no joi.
 */
export function readTime(value: string): string | undefined {
  const [, minutes, seconds] = /^((?:[01]\d|2[0-3]):[0-5]\d)(:[0-5]\d)?$/.exec(value) ?? [];
  return seconds === ':00' ? minutes : minutes && value;
}
