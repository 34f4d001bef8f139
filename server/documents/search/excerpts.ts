import { offsetsIn, offsetsOf, type SearchTerm, type Word, wordsIn } from '../../../projections/tables/words.ts';
import { escapeHtml } from '../../platform/html.ts';

/** Characters before the first match, and in all. */
const before = 40;
const most = 160;

/**
 * A part of the first text that contains a term, as escaped HTML with `<mark>` around the found words. Empty if no text
 * contains a term.
 */
export function excerptOf(texts: readonly string[], terms: readonly SearchTerm[]): string {
  for (const text of texts) {
    const words = wordsIn(text);
    const marked = markedIn(words, terms);
    const first = words.find((_, index) => marked.has(index));
    if (first) return partOf(text, words, { marked, around: first });
  }
  return '';
}

/** The indexes of the words that belong to a match of a term. */
function markedIn(words: readonly Word[], terms: readonly SearchTerm[]): Set<number> {
  const places = offsetsIn(words.map((word) => word.folded));
  const marked = new Set<number>();
  for (const term of terms) {
    for (const place of offsetsOf(term, places)) {
      for (const offset of term.words.keys()) marked.add(place + offset);
    }
  }
  return marked;
}

function partOf(
  text: string,
  words: readonly Word[],
  { marked, around }: { marked: Set<number>; around: Word },
): string {
  const start = words.find((word) => word.start >= around.start - before)?.start ?? around.start;
  const from = around.start <= before ? 0 : start;
  const to = endOf(text, words, { from, around });
  let html = from > 0 ? '…' : '';
  let at = from;
  for (const [index, word] of words.entries()) {
    if (!marked.has(index) || word.start < from || word.start >= to) continue;
    const end = Math.min(word.end, to);
    html += `${escapeHtml(text.slice(at, word.start))}<mark>${escapeHtml(text.slice(word.start, end))}</mark>`;
    at = end;
  }
  return html + escapeHtml(text.slice(at, to)) + (to < text.length ? '…' : '');
}

/** The end of the part: behind a word, unless the found word is too long. */
function endOf(text: string, words: readonly Word[], { from, around }: { from: number; around: Word }): number {
  const limit = from + most;
  if (text.length <= limit) return text.length;
  const last = words.findLast((word) => word.end <= limit);
  if (last && last.start >= around.start) return last.end;
  // Not between the halves of a surrogate pair.
  return /[\ud800-\udbff]/.test(text.charAt(limit - 1)) ? limit - 1 : limit;
}
