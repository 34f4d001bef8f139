type Wrong = { field: string; message: string };

const milliseconds = 60;

/**
 * Puts the focus on the first field that is wrong, in the order of the page, once what hides it is open.
 *
 * @returns the problems that have no place on the page.
 */
export async function focusFirstProblem(root: HTMLElement | null, wrong: readonly Wrong[]): Promise<Wrong[]> {
  if (root === null || wrong.length === 0) return [];
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  const first = root.querySelector<HTMLElement>('[data-invalid]');
  openTabOf(first);
  await new Promise((resolve) => requestAnimationFrame(resolve));
  const control = first?.querySelector<HTMLElement>(
    'input:not(:disabled), textarea, select, [contenteditable="true"], button',
  );
  control?.focus();
  first?.scrollIntoView({ block: 'center' });
  return wrong.filter(
    ({ field }) =>
      root.querySelector(`[data-field="${CSS.escape(field)}"], [data-item="${CSS.escape(field)}"]`) === null,
  );
}

/** A tab that is not in front hides its fields. */
function openTabOf(element: HTMLElement | null): void {
  const panel = element?.closest<HTMLElement>('[role="tabpanel"]');
  if (!panel || panel.checkVisibility()) return;
  // The button of the tab does all that belongs to it.
  document.getElementById(panel.getAttribute('aria-labelledby') ?? '')?.click();
}
