/** The names of the API that the random models use, in one place. */
export const names = {
  /** The parameter of a list that begins or continues a walk, and the way on in its answer. */
  next: 'next',
  /** The path that undoes a bulk call. */
  undo: (batch: string) => `/api/batches/${batch}/undo`,
  /** A dry run of a bulk call: its path and its body. */
  dryRun: (path: string, body: object): [path: string, body: object] => [`${path}?dryRun=true`, body],
  /** The versions in the answer of a history. */
  versionsOf: (body: { docs: { version: number; type: string }[] }) => body.docs,
  /** The number in the answer of `/count`. */
  countOf: (body: { total: number }): number => body.total,
};
