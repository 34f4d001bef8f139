/**
 * A document that was opened. Its title is not stored but read when it is shown: it may be confidential, and it may
 * change.
 */
export type Recent = { slug: string; id: string };

/** The number of documents that are remembered. */
export const mostRecent = 8;

function isRecent(value: unknown): value is Recent {
  if (typeof value !== 'object' || value === null) return false;
  const { slug, id } = value as Partial<Recent>;
  return typeof slug === 'string' && typeof id === 'string';
}

/** Reads the stored list; a text that cannot be read counts as an empty list. */
export function recentOf(text: string | null): Recent[] {
  try {
    const kept: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(kept) ? kept.filter(isRecent).slice(0, mostRecent) : [];
  } catch {
    return [];
  }
}

/** The list with a document put first. */
export function withRecent(kept: readonly Recent[], { slug, id }: Recent): Recent[] {
  const others = kept.filter((one) => one.slug !== slug || one.id !== id);
  return [{ slug, id }, ...others].slice(0, mostRecent);
}
