import { harmless, isFormula } from '../../server/audit/exports/csv.ts';

const guards = /[;\t\r\n]'/g;

/**
 * A text as the export of content writes it: that no spreadsheet takes for a formula, as {@link harmless} has it. An
 * apostrophe within it that could be taken for such a guard gets one more as well, so that {@link unguarded} gives
 * every text back.
 */
export function guarded(text: string): string {
  return harmless(text, isGuarded);
}

/** The text that {@link guarded} made this one of; a text that it cannot have made stays as it is. */
export function unguarded(text: string): string {
  const plain = text.replace(/^'/, '').replace(guards, (guard, at: number, whole: string) => {
    return isGuarded(whole.slice(at + guard.length)) ? guard.charAt(0) : guard;
  });
  return guarded(plain) === text ? plain : text;
}

function isGuarded(text: string): boolean {
  return isFormula(text) || /^'+[\t\r\n]/.test(text);
}
