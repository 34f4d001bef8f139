type FieldProblem = { field: string; message: string };

const milliseconds = 60;
/** The elements of a field that can take the focus. */
const controls = 'input:not(:disabled), textarea, select, [contenteditable="true"], button';

/**
 * Puts the focus on the first field that is wrong, in the order of the page; opens the tab that hides it.
 *
 * @returns the problems whose fields are not on the page.
 */
export async function focusFirstProblem(
  root: HTMLElement | null,
  wrong: readonly FieldProblem[],
): Promise<FieldProblem[]> {
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

/** Opens the tab of an element, if it is hidden in one. */
function openTabOf(element: HTMLElement | null): void {
  const panel = element?.closest<HTMLElement>('[role="tabpanel"]');
  if (!panel || panel.checkVisibility()) return;
  // A click on the tab's button does everything that opening it needs.
  document.getElementById(panel.getAttribute('aria-labelledby') ?? '')?.click();
}

type FocusPlace = { id: string; field: string | null; caret: [start: number, end: number] | null };

let left: FocusPlace | null = null;

/** Remembers the place of the focus in the form of a new document, for the form of the document created: `id`. */
export function leaveFocus(root: HTMLElement | null, id: string): void {
  const { activeElement } = document;
  const isInside = activeElement !== null && root?.contains(activeElement) === true;
  const field = isInside ? (activeElement.closest<HTMLElement>('[data-field]')?.dataset.field ?? null) : null;
  left = { id, field, caret: field === null ? null : caretOf(activeElement) };
}

/** Gives the focus to the same field of the document created; to Save if the focus was in no field, as on Create. */
export function takeFocus(root: HTMLElement | null, id: string | null): void {
  if (left === null || left.id !== id) return;
  const { field, caret } = left;
  left = null;
  const place = field === null ? null : root?.querySelector(`[data-field="${CSS.escape(field)}"]`);
  const control = place?.querySelector<HTMLElement>(controls) ?? document.querySelector<HTMLElement>('[data-save]');
  control?.focus();
  if (caret !== null && isText(control)) control.setSelectionRange(...caret);
}

function caretOf(element: Element | null): FocusPlace['caret'] {
  const { selectionStart = null, selectionEnd = null } = isText(element) ? element : {};
  return selectionStart === null || selectionEnd === null ? null : [selectionStart, selectionEnd];
}

function isText(element: Element | null | undefined): element is HTMLInputElement | HTMLTextAreaElement {
  return element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement;
}
