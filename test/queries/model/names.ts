/** The names of the API that the random models use, in one place. */
export const names = {
  /** The parameter of a list that begins or continues a walk. */
  after: 'after',
  /** The way on of a walk in the answer of a list. */
  nextCursor: 'nextCursor',
  /** The path that undoes a bulk call. */
  undo: (batch: string) => `/api/audit/batches/${batch}/undo`,
  /** A dry run of a bulk call: its path and its body. */
  dryRun: (path: string, body: object): [path: string, body: object] => [path, { ...body, dryRun: true }],
  /** The versions in the answer of a history. */
  versionsOf: (body: { versions: { version: number; type: string }[] }) => body.versions,
  /** The number in the answer of `/count`. */
  countOf: (body: { count: number }): number => body.count,
};
