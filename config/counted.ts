/** A number with its noun: `1 event`, `3 events`. @param many the plural, where that is not the noun with an s. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
