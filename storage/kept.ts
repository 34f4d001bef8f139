/** The functions that release this thread's caches: data that the thread could make or read again. */
const kept = new Set<() => void>();

/** Registers the release of a cache for when the thread is idle. @returns the function that ends the registration. */
export function keepUntilRest(giveBack: () => void): () => void {
  kept.add(giveBack);
  return () => void kept.delete(giveBack);
}

/** Releases all registered caches of this thread. */
export function giveBackKept(): void {
  for (const giveBack of kept) giveBack();
}
