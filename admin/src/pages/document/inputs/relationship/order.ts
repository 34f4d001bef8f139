/** The ids in the value of a field, which holds one document or several. Anything else in the value is left out. */
export function idsOf(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value];
  return [...new Set(list.filter((id) => typeof id === 'string' && id !== ''))];
}

/** A list with an id at its end; an id that is already in the list keeps its place. */
export function withId(ids: readonly string[], id: string): string[] {
  return ids.includes(id) ? [...ids] : [...ids, id];
}

/** A list without an id. */
export function withoutId(ids: readonly string[], id: string): string[] {
  return ids.filter((one) => one !== id);
}

/** A list in which the item at `from` has moved to `to`; a place outside the list means its nearest end. */
export function moved<Item>(items: readonly Item[], from: number, to: number): Item[] {
  const rest = [...items];
  const [item] = rest.splice(from, 1);
  if (item === undefined) return [...items];
  rest.splice(Math.max(0, Math.min(to, rest.length)), 0, item);
  return rest;
}

/** A list in parts, none longer than the most documents of one request. */
export function partsOf<Item>(items: readonly Item[], size = 100): Item[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, part) => items.slice(part * size, (part + 1) * size));
}
