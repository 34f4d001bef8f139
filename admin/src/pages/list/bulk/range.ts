/**
 * The rows from one to another, both included, in the order of the list; only the second if the first is not in it.
 */
export function rangeOf<One extends { id: string }>(rows: readonly One[], from: string | null, to: string): One[] {
  const end = rows.findIndex(({ id }) => id === to);
  const start = rows.findIndex(({ id }) => id === from);
  if (end < 0) return [];
  return start < 0 ? rows.slice(end, end + 1) : rows.slice(Math.min(start, end), Math.max(start, end) + 1);
}
