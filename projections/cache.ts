/** In characters. A statement takes some 65 bytes for each of its text, so those of a cache come to 4 MiB. */
const most = 64 * 1024;
const longest = 4 * 1024;

/**
 * Keeps what was made for texts, such as statements for SQL. Callers of the API choose the texts, so it is bounded by their
 * length: nothing is kept for one of more than 4096 characters, and all is forgotten when they come to more than 65 536.
 */
export function createCache<T>() {
  const kept = new Map<string, T>();
  let characters = 0;

  /** Of a key that is not there yet. */
  function set(key: string, value: T): void {
    if (key.length > longest) return;
    if (characters + key.length > most) clear();
    characters += key.length;
    kept.set(key, value);
  }

  function clear(): void {
    kept.clear();
    characters = 0;
  }

  return { get: (key: string): T | undefined => kept.get(key), set, clear };
}
