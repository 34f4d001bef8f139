import { useEffect, useRef } from 'react';

/** The functions that the keys of a form call. */
type Calls = { save: () => void; publish: (() => void) | undefined };

/** The open forms, the topmost last: the keys are for the topmost. */
const open: { current: Calls }[] = [];

function hear(event: KeyboardEvent): void {
  if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
  const top = open.at(-1);
  const call = event.shiftKey ? top?.current.publish : top?.current.save;
  if (call === undefined) return;
  event.preventDefault();
  call();
}

/** Saves by Ctrl+S or ⌘S, and publishes by Ctrl+Shift+S or ⇧⌘S, wherever the focus is. */
export function useSaveKey(save: () => void, publish?: () => void): void {
  const current = useRef<Calls>({ save, publish });
  current.current = { save, publish };
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
