/** A number of rows and the bytes of their contents: those that there are, those that come, or the most that may be. */
export type Usage = { count: number; bytes: number };

/** Whether what is added to what is used keeps to the most that may be. */
export function fits(used: Usage, added: Usage, most: Usage): boolean {
  return used.count + added.count <= most.count && used.bytes + added.bytes <= most.bytes;
}
