/**
 * Keeps the collector of unused files away from those that an upload is about to name in an event: pinned before they are
 * looked for in the store, unpinned when the event is recorded, or never will be.
 */
export type Pins = {
  pin: (sha256: string) => Promise<void>;
  unpin: (sha256: string) => Promise<void>;
};

/** The pins of all threads, kept in the main thread. */
export function createPins(): Pins & { isPinned: (sha256: string) => boolean } {
  const counts = new Map<string, number>();
  return {
    async pin(sha256) {
      counts.set(sha256, (counts.get(sha256) ?? 0) + 1);
    },
    async unpin(sha256) {
      const left = (counts.get(sha256) ?? 0) - 1;
      if (left > 0) counts.set(sha256, left);
      else counts.delete(sha256);
    },
    isPinned: (sha256) => counts.has(sha256),
  };
}
