/** In characters. A statement takes some 65 bytes for each of its text, so those of a cache come to 4 MiB. */
const usual = 64 * 1024;
const longest = 4 * 1024;

/**
 * Keeps what was made for texts, such as statements for SQL. Callers of the API choose the texts, so it is bounded by
 * their length: nothing is kept for one of more than 4096 characters, and the longest unused go where they come to more
 * than `most`.
 */
export function createCache<T>(most = usual) {
  const kept = new Map<string, T>();
  let characters = 0;

  function get(key: string): T | undefined {
    const value = kept.get(key);
    if (value === undefined) return undefined;
    kept.delete(key);
    kept.set(key, value);
    return value;
  }

  function set(key: string, value: T): void {
    if (key.length > longest) return;
    if (kept.delete(key)) characters -= key.length;
    kept.set(key, value);
    characters += key.length;
    for (const oldest of kept.keys()) {
      if (characters <= most) return;
      kept.delete(oldest);
      characters -= oldest.length;
    }
  }

  function clear(): void {
    kept.clear();
    characters = 0;
  }

  return { get, set, clear };
}
