import { useEffect, useRef } from 'react';

/** The open forms, the topmost last: the keys are for the topmost. */
const open: { current: () => void }[] = [];

function hear(event: KeyboardEvent): void {
  if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  const top = open.at(-1);
  if (top === undefined) return;
  event.preventDefault();
  top.current();
}

/** Saves by Ctrl+S or ⌘S, wherever the focus is. */
export function useSaveKey(save: () => void): void {
  const current = useRef(save);
  current.current = save;
  useEffect(() => {
    // In the capture phase, because a drawer keeps its keys from the page below it.
    if (open.length === 0) addEventListener('keydown', hear, { capture: true });
    open.push(current);
    return () => {
      open.splice(open.indexOf(current), 1);
      if (open.length === 0) removeEventListener('keydown', hear, { capture: true });
    };
  }, []);
}
