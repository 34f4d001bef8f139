import { useEffect, useState, useSyncExternalStore } from 'react';
import { openListeners } from '../service/listeners.ts';
import { useWords } from '../words/index.ts';

let open: readonly symbol[] = [];
const { tell, subscribe } = openListeners();

function set(next: readonly symbol[]): void {
  open = next;
  tell();
}

/** The element that the focus returns to; for an item of a menu, which is gone by then, the button of the menu. */
function openerOf(focused: Element | null): Element | null {
  const menu = focused?.closest('[role=menu]');
  return menu ? document.querySelector(`[aria-controls="${CSS.escape(menu.id)}"]`) : focused;
}

/**
 * The properties of a dialog or drawer that is rendered only while it is open: Escape closes the topmost only, and the
 * focus returns to the element that had it before.
 */
export function useDialog(onClose: () => void) {
  const { shared } = useWords();
  const [id] = useState(() => Symbol('dialog'));
  const [before] = useState(() => openerOf(document.activeElement));
  useEffect(() => {
    set([...open, id]);
    return () => {
      set(open.filter((one) => one !== id));
      // The dialog holds the focus until it is gone.
      setTimeout(() => before instanceof HTMLElement && before.isConnected && before.focus({ preventScroll: true }));
    };
  }, [id, before]);
  const top = useSyncExternalStore(subscribe, () => open.at(-1));
  return {
    opened: true,
    onClose,
    closeOnEscape: top === id || top === undefined,
    closeButtonProps: { 'aria-label': shared.close },
  };
}
