/**
 * Thrown where a read table lacks a row that another one tells of. `isDamage` knows it by its code, SQLite's own for
 * the like, so the next start that meets it builds the file anew.
 */
export class DamagedReadFileError extends Error {
  override name = 'DamagedReadFileError';
  readonly code = 'SQLITE_CORRUPT';
}

/** A row's value that must be there. @throws DamagedReadFileError when it is not. */
export function intact<T>(value: T | null | undefined, table: string, row: string): T {
  if (value !== null && value !== undefined) return value;
  throw new DamagedReadFileError(`${table} lost its row of ${row}; "annals rebuild" makes the read tables anew`);
}
