/** How well words fit a name: 0 not at all; then, rising, inside it, at the start of a word, at its start, exactly. */
export function fitOf(name: string, words: string): number {
  const folded = fold(name);
  const wanted = fold(words.trim());
  if (wanted === '' || folded === wanted) return 4;
  if (folded.startsWith(wanted)) return 3;
  const parts = wanted.split(/\s+/);
  if (!parts.every((part) => folded.includes(part))) return 0;
  const begins = folded.split(/[^\p{L}\p{N}]+/u);
  return parts.every((part) => begins.some((begin) => begin.startsWith(part))) ? 2 : 1;
}

/** The entries that fit, the best first. */
export function fitting<One extends { name: string }>(entries: readonly One[], words: string): One[] {
  return entries
    .map((entry) => ({ entry, fit: fitOf(entry.name, words) }))
    .filter(({ fit }) => fit > 0)
    .sort((one, other) => other.fit - one.fit)
    .map(({ entry }) => entry);
}

function fold(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}
