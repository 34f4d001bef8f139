/** The keys of a shortcut: one (`n`), two after one another (`g h`), or with the modifier of the system (`mod+k`). */
export type Keys = string;

type Press = { key: string; ctrlKey: boolean; metaKey: boolean; altKey: boolean; shiftKey: boolean };

const secondKeyWithin = 1_000;

/**
 * The name of a key press, as shortcuts write it; null for a modifier without a key, and for a modifier that no
 * shortcut uses.
 */
export function pressOf({ key, ctrlKey, metaKey, altKey, shiftKey }: Press): Keys | null {
  if (altKey || ['Shift', 'Control', 'Meta', 'Alt', 'Dead'].includes(key)) return null;
  const name = key.length === 1 ? key.toLowerCase() : key;
  if (!ctrlKey && !metaKey) return name;
  return shiftKey ? `mod+shift+${name}` : `mod+${name}`;
}

/** The first key of a shortcut of two, and when it was pressed. */
export type Pending = { press: Keys; at: number } | null;

/** The shortcut that a press completes, with the press before it, and the press that now waits for a second key. */
export function keysOf(
  press: Keys,
  { pending, at, known }: { pending: Pending; at: number; known: readonly Keys[] },
): {
  keys: Keys | null;
  pending: Pending;
} {
  const both = pending !== null && at - pending.at <= secondKeyWithin ? `${pending.press} ${press}` : null;
  if (both !== null && known.includes(both)) return { keys: both, pending: null };
  if (known.includes(press)) return { keys: press, pending: null };
  return { keys: null, pending: known.some((keys) => keys.startsWith(`${press} `)) ? { press, at } : null };
}

/** Whether the element with the focus takes letters itself. */
export function isField(target: { tagName: string; isContentEditable?: boolean; type?: string } | null): boolean {
  if (target === null) return false;
  if (target.isContentEditable) return true;
  const name = target.tagName.toLowerCase();
  if (name === 'textarea' || name === 'select') return true;
  return name === 'input' && !['checkbox', 'radio', 'button', 'submit', 'reset'].includes(target.type ?? 'text');
}
