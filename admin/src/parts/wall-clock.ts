/** A moment as the value of a `datetime-local` control: the wall clock of the browser, without a zone. */
export function wallClock(moment: string | Date): string {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return '';
  const wall = new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString();
  // Without digits that say nothing.
  return wall.slice(0, -1).replace(/(?::00)?\.000$/, '');
}

/** The moment of a wall clock of the browser, with its zone; null for any other text. */
export function momentAt(wall: string): string | null {
  const date = new Date(wall);
  return wall === '' || Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** The time zone of the browser: `Europe/Berlin`. */
export function zoneName(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
