import { useEffect, useState } from 'react';

/** Gives the focus back to what had it before a dialog came, for a dialog that is taken away whole when it closes. */
export function useReturnFocus(): void {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      // The dialog holds the focus until it is gone.
      setTimeout(() => before instanceof HTMLElement && before.isConnected && before.focus({ preventScroll: true }));
    },
    [before],
  );
}
