import { messageOf } from '../../storage/errors.ts';
import { UnfitServerError, UnreachableError } from '../../storage/postgres/errors.ts';
import { UnknownCommitError } from '../../storage/postgres/session.ts';

/** Thrown if a log cannot be moved; its message is for the operator, and the log is where it was. */
export class MoveError extends Error {
  override name = 'MoveError';
}

/** Says what PostgreSQL refused, without its statements. @throws MoveError. */
export async function reported<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof MoveError) throw error;
    if (error instanceof UnfitServerError || error instanceof UnreachableError)
      throw new MoveError(error.message, { cause: error });
    if (error instanceof UnknownCommitError)
      throw new MoveError(`it is not known whether PostgreSQL has committed: ${error.message}`, { cause: error });
    throw new MoveError(`PostgreSQL: ${messageOf(error)}`, { cause: error });
  }
}
