/**
 * A document that was opened: its title is asked for when it is shown, for it may not be for everyone's eyes, and
 * changes.
 */
export type Recent = { slug: string; id: string };

/** As many documents as are remembered. */
export const mostRecent = 8;

function isRecent(value: unknown): value is Recent {
  if (typeof value !== 'object' || value === null) return false;
  const { slug, id } = value as Partial<Recent>;
  return typeof slug === 'string' && typeof id === 'string';
}

/** Reads what was kept; what is not readable counts as nothing. */
export function recentOf(text: string | null): Recent[] {
  try {
    const kept: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(kept) ? kept.filter(isRecent).slice(0, mostRecent) : [];
  } catch {
    return [];
  }
}

/** The documents with one of them put first. */
export function withRecent(kept: readonly Recent[], { slug, id }: Recent): Recent[] {
  const others = kept.filter((one) => one.slug !== slug || one.id !== id);
  return [{ slug, id }, ...others].slice(0, mostRecent);
}
