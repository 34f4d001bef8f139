/** The message of what was thrown, which need not be an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of an error of the system or of SQLite, such as `ENOENT`; undefined of any other. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** A thrown value, as an error. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
