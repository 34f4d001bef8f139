/** A moment as an input of the browser has it, in its zone: `2026-11-23T17:04`. Empty for any other text. */
export function localOf(moment: string): string {
  const time = Date.parse(moment);
  if (Number.isNaN(time)) return '';
  const date = new Date(time);
  return new Date(time - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The moment of such an input, in UTC; null for any other text. */
export function utcOf(local: string): string | null {
  const time = Date.parse(local);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
