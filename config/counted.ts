/** A number with its noun: `1 event`, `3 events`. @param many the plural, if it is not the noun with an s. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** A number of bytes in a readable unit: `512 bytes`, `1.5 MiB`. */
export function inBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = bytes;
  let at = 0;
  for (; size >= 1024 && at < units.length - 1; at += 1) size /= 1024;
  return `${at === 0 ? size : size.toFixed(1)} ${units[at]}`;
}
