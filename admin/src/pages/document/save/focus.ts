type Wrong = { field: string; message: string };

const milliseconds = 60;
/** The elements of a field that can have the focus. */
const controls = 'input:not(:disabled), textarea, select, [contenteditable="true"], button';

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
  first?.querySelector<HTMLElement>(controls)?.focus();
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

type Left = { id: string; field: string | null; caret: [start: number, end: number] | null };

let left: Left | null = null;

/** Remembers the place of the focus in the form of a new document, for the form that it becomes: `id` is its id. */
export function leaveFocus(root: HTMLElement | null, id: string): void {
  const { activeElement } = document;
  const isInside = activeElement !== null && root?.contains(activeElement) === true;
  const field = isInside ? (activeElement.closest<HTMLElement>('[data-field]')?.dataset.field ?? null) : null;
  left = { id, field, caret: field === null ? null : caretOf(activeElement) };
}

/** Gives the focus to the same field of the document that was made; to Save, which was Create, where it was in none. */
export function takeFocus(root: HTMLElement | null, id: string | null): void {
  if (left === null || left.id !== id) return;
  const { field, caret } = left;
  left = null;
  const place = field === null ? null : root?.querySelector(`[data-field="${CSS.escape(field)}"]`);
  const control = place?.querySelector<HTMLElement>(controls) ?? document.querySelector<HTMLElement>('[data-save]');
  control?.focus();
  if (caret !== null && isText(control)) control.setSelectionRange(...caret);
}

function caretOf(element: Element | null): Left['caret'] {
  const { selectionStart = null, selectionEnd = null } = isText(element) ? element : {};
  return selectionStart === null || selectionEnd === null ? null : [selectionStart, selectionEnd];
}

function isText(element: Element | null | undefined): element is HTMLInputElement | HTMLTextAreaElement {
  return element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement;
}
