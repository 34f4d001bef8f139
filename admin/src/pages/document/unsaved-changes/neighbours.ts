import { openListeners } from '../../../service/listeners.ts';
import { storageName } from '../../../service/place.ts';
import { newKey } from '../new-key.ts';

/**
 * A message from a form to the other forms of this browser: it has unsaved changes or not (`open`), asks the others for
 * the same (`asks`), or is closed. With `looks` a form that opens finds out which others are open.
 */
type Message = { target: string; form: string; isChanged: boolean; state: 'open' | 'asks' | 'closed' | 'looks' };

/** Long enough for a tab in the background to answer. */
const milliseconds = 150;

/** Connects a form with the forms of other tabs that have the same target. `target` includes the account. */
export function openNeighbours(target: string, form: string) {
  const channel = new BroadcastChannel(storageName('forms'));
  let others = new Map<string, boolean>();
  let answered = new Set<string>();
  let isChanged = false;
  const listeners = openListeners();

  const tell = (state: Message['state']) => channel.postMessage({ target, form, isChanged, state } satisfies Message);

  function set(next: Map<string, boolean>): void {
    others = next;
    listeners.tell();
  }

  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.target !== target || data.form === form) return;
    if (data.state === 'asks' || data.state === 'looks') tell('open');
    if (data.state === 'looks') return;
    const next = new Map(others);
    if (data.state === 'closed') next.delete(data.form);
    else next.set(data.form, data.isChanged);
    answered.add(data.form);
    set(next);
  };
  const leave = () => tell('closed');
  // A tab that was killed says nothing: forms that do not answer are gone.
  const ask = () => {
    if (document.visibilityState !== 'visible') return;
    answered = new Set();
    tell('asks');
    setTimeout(() => set(new Map([...others].filter(([other]) => answered.has(other)))), milliseconds);
  };
  addEventListener('pagehide', leave);
  document.addEventListener('visibilitychange', ask);
  ask();

  return {
    /** Whether another tab has unsaved changes. */
    areChanged: () => others.values().some(Boolean),
    subscribe: listeners.subscribe,
    /** Tells the other tabs whether this form has unsaved changes. */
    setChanged(next: boolean): void {
      if (isChanged === next) return;
      isChanged = next;
      tell('open');
    },
    close(): void {
      leave();
      removeEventListener('pagehide', leave);
      document.removeEventListener('visibilitychange', ask);
      channel.close();
    },
  };
}

/** The forms of other tabs that are open with the same target, as far as they answer. */
export async function formsElsewhere(target: string): Promise<Set<string>> {
  const channel = new BroadcastChannel(storageName('forms'));
  const found = new Set<string>();
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.target === target && data.state === 'open') found.add(data.form);
  };
  channel.postMessage({ target, form: newKey(), isChanged: false, state: 'looks' } satisfies Message);
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  channel.close();
  return found;
}
