/** A list of listeners. `subscribe` is as `useSyncExternalStore` takes it. */
export function openListeners() {
  const all = new Set<() => void>();
  return {
    tell(): void {
      for (const listener of all) listener();
    },
    subscribe(listener: () => void): () => void {
      all.add(listener);
      return () => {
        all.delete(listener);
      };
    },
  };
}
