import { useEffect, useRef } from 'react';
import { tell } from '../../../parts/toast.ts';
import { accountNow, nameOf } from '../../../service/session.ts';
import { useWords } from '../../../words/index.ts';
import type { Editor, Opening } from './open-editor.ts';

/** Keeps unsaved changes when the page is left, and asks before the tab closes while they are not kept. */
export function useLeaving({ form, autosave }: Editor, { account, found, isReadOnly }: Opening): void {
  const { form: words } = useWords();
  const said = useRef(words.changesKept);
  said.current = words.changesKept;
  // A name, because a login over the form makes a new object for the same account.
  const owner = nameOf(account);
  useEffect(() => {
    if (isReadOnly) return;
    if (found === null) form.begin();
    const flush = () => void autosave.flush();
    const hold = (event: BeforeUnloadEvent) => {
      const isAtRisk = autosave.state() === 'waiting' || autosave.state() === 'failed';
      if (isAtRisk && form.isTyped()) event.preventDefault();
    };
    const onHidden = () => document.visibilityState === 'hidden' && flush();
    addEventListener('pagehide', flush);
    document.addEventListener('visibilitychange', onHidden);
    addEventListener('beforeunload', hold);
    return () => {
      removeEventListener('pagehide', flush);
      document.removeEventListener('visibilitychange', onHidden);
      removeEventListener('beforeunload', hold);
      const now = accountNow();
      // After a log-out nothing is kept on this device.
      if (now !== null && form.isTyped()) {
        flush();
        if (nameOf(now) === owner) tell(said.current);
      }
      autosave.close();
    };
  }, [form, autosave, owner, found, isReadOnly]);
}
