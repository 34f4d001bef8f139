/** How each thing is given back that this thread keeps to be faster, and could make or read again. */
const kept = new Set<() => void>();

/** Has something given back when the thread is at rest. @returns ends that. */
export function keepUntilRest(giveBack: () => void): () => void {
  kept.add(giveBack);
  return () => void kept.delete(giveBack);
}

/** Gives back all that this thread keeps to be faster. */
export function giveBackKept(): void {
  for (const giveBack of kept) giveBack();
}
