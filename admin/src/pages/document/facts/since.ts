import { agoOf } from '../../../parts/times.tsx';
import type { Words } from '../../../words/index.ts';

/** How long ago a moment was, for use within a sentence: "3 minutes ago", "a moment ago". */
export function sinceOf(moment: string, language: string, words: Words['form']): string {
  return Date.now() - Date.parse(moment) < 60_000 ? words.justNow : agoOf(moment, language);
}
