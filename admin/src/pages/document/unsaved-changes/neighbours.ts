import { openListeners } from '../../../service/listeners.ts';
import { storageName } from '../../../service/place.ts';
import { newKey } from '../new-key.ts';

/**
 * A form tells the others of this browser whether something in it is not saved, asks them for the same, or is closed;
 * `looks`: it opens.
 */
type Told = { target: string; form: string; isChanged: boolean; state: 'open' | 'asks' | 'closed' | 'looks' };

/** Long enough for a tab in the background to answer. */
const milliseconds = 150;

/** Opens the talk of a form with those of other tabs of this browser about the same: `target` names the account too. */
export function openNeighbours(target: string, form: string) {
  const channel = new BroadcastChannel(storageName('forms'));
  let others = new Map<string, boolean>();
  let answered = new Set<string>();
  let isChanged = false;
  const listeners = openListeners();

  const tell = (state: Told['state']) => channel.postMessage({ target, form, isChanged, state } satisfies Told);

  function set(next: Map<string, boolean>): void {
    others = next;
    listeners.tell();
  }

  channel.onmessage = ({ data }: MessageEvent<Told>) => {
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
  // A tab that was stopped says nothing: those that do not answer are gone.
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
    /** Whether something in another tab is not saved. */
    areChanged: () => others.values().some(Boolean),
    subscribe: listeners.subscribe,
    /** Tells the others whether something is not saved here. */
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

/** The forms of other tabs that are open with the same, as far as they answer. */
export async function formsElsewhere(target: string): Promise<Set<string>> {
  const channel = new BroadcastChannel(storageName('forms'));
  const found = new Set<string>();
  channel.onmessage = ({ data }: MessageEvent<Told>) => {
    if (data.target === target && data.state === 'open') found.add(data.form);
  };
  channel.postMessage({ target, form: newKey(), isChanged: false, state: 'looks' } satisfies Told);
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  channel.close();
  return found;
}
