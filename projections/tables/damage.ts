/**
 * Thrown if a read table lacks a row that another read table refers to. It has SQLite's code for such damage, by which
 * `isDamage` recognizes it, so the next start that meets it builds the file anew.
 */
export class DamagedReadFileError extends Error {
  override name = 'DamagedReadFileError';
  readonly code = 'SQLITE_CORRUPT';
}

/** A value that a row must have. @throws DamagedReadFileError if it is missing. */
export function intact<T>(value: T | null | undefined, table: string, row: string): T {
  if (value !== null && value !== undefined) return value;
  throw new DamagedReadFileError(`${table} lost its row of ${row}; "annals rebuild" makes the read tables anew`);
}
