/** The links of the rows, in their order. */
function links(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>('[data-row-link]')];
}

/** Moves the focus to the next row, or the one before. */
export function moveInRows(step: 1 | -1): void {
  const all = links();
  const row = document.activeElement?.closest('[data-row]');
  const at = all.findIndex((link) => row !== null && link.closest('[data-row]') === row);
  const next = at < 0 ? (step === 1 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1);
  all[next]?.focus();
  all[next]?.scrollIntoView({ block: 'nearest' });
}

/** The id of the row with the focus; null if no row has it. */
export function focusedRow(): string | null {
  return document.activeElement?.closest('[data-row]')?.getAttribute('data-row') ?? null;
}
