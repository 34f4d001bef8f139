/** The message of a thrown value, which need not be an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The texts of the C library for errors that `rmSync` of Node 24 throws with an empty `code`. */
const unnamed: readonly [text: string, code: string][] = [
  ['No space left on device', 'ENOSPC'],
  ['Disk quota exceeded', 'EDQUOT'],
  ['Too many open files in system', 'ENFILE'],
  ['Too many open files', 'EMFILE'],
  ['Input/output error', 'EIO'],
];

/** The code of an error of the system or of SQLite, such as `ENOENT`; undefined for any other value. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && typeof error.code === 'string')) return undefined;
  return error.code === '' ? unnamed.find(([text]) => error.message.includes(text))?.[1] : error.code;
}

/** A thrown value, as an error. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
