import { useEffect, useRef } from 'react';
import { tell } from '../../../parts/toast.ts';
import { accountNow, nameOf } from '../../../service/session.ts';
import { useWords } from '../../../words/index.ts';
import type { Editor, Opening } from './open-editor.ts';

/** Keeps what is typed when the page is left, and holds the tab while something is not kept. */
export function useKept({ form, autosave }: Editor, { account, found, isReadOnly }: Opening): void {
  const { form: words } = useWords();
  const said = useRef(words.changesKept);
  said.current = words.changesKept;
  // The same after a log-in over the form, which makes another object of the account.
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
      // A user who logs out leaves nothing here.
      if (now !== null && form.isTyped()) {
        flush();
        if (nameOf(now) === owner) tell(said.current);
      }
      autosave.close();
    };
  }, [form, autosave, owner, found, isReadOnly]);
}
