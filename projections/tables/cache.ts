/**
 * In characters. A statement takes some 65 bytes per character of its text, so the statements of a cache take 4 MiB.
 */
const usual = 64 * 1024;
const longest = 4 * 1024;

/**
 * Keeps what was made for texts, such as statements for SQL. Callers of the API choose the texts, so their length
 * bounds the cache: texts of more than 4096 characters are not kept, and the longest unused texts are removed when all
 * have more than `most` characters.
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
