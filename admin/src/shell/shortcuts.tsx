import { useEffect, useRef } from 'react';
import { usePreferences } from '../service/preferences.ts';
import { isField, type Keys, keysOf, type Pending, pressOf } from './shortcuts.ts';

/** A shortcut, and what it does. */
export type Shortcut = { keys: Keys; run: () => void };

/** The shortcuts of all components that are shown: the component that came last wins. */
const shown = new Set<{ current: readonly Shortcut[] }>();

/**
 * Adds shortcuts for as long as the component is shown. They do not fire below a dialog, or if the user has switched
 * them off. In a field, only those with `mod` fire.
 */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const mine = useRef(shortcuts);
  useEffect(() => {
    mine.current = shortcuts;
  });
  useEffect(() => {
    shown.add(mine);
    return () => {
      shown.delete(mine);
    };
  }, []);
}

function all(): Shortcut[] {
  return [...shown].reverse().flatMap(({ current }) => current);
}

/** Listens for the keys of all shortcuts. The frame calls it, and nothing else. */
export function useShortcutKeys(): void {
  const { data } = usePreferences();
  const isOn = data?.shortcuts !== false;
  useEffect(() => {
    if (!isOn) return;
    let pending: Pending = null;
    const hear = (event: KeyboardEvent) => {
      const press = pressOf(event);
      if (press === null || event.defaultPrevented || event.isComposing) return;
      const target = event.target instanceof HTMLElement ? event.target : null;
      // A command, such as mod+k, types nothing, so it works in a field too.
      if (!press.startsWith('mod+') && isField(target as HTMLInputElement | null)) return;
      if (document.querySelector('[role=dialog][aria-modal=true], [role=menu]') !== null) return;
      const shortcuts = all();
      const found = keysOf(press, { pending, at: event.timeStamp, known: shortcuts.map(({ keys }) => keys) });
      pending = found.pending;
      const shortcut = shortcuts.find(({ keys }) => keys === found.keys);
      if (shortcut === undefined) return;
      event.preventDefault();
      shortcut.run();
    };
    addEventListener('keydown', hear);
    return () => removeEventListener('keydown', hear);
  }, [isOn]);
}
