import { AlteredEventError } from '../../events/store/altered.ts';
import { DamagedReadFileError } from '../../projections/tables/damage.ts';
import { isDiskTrouble, isOutOfFiles, isUnopened } from '../../storage/sqlite.ts';

const ofDisk =
  'the disk fails, or what was written to it has been changed: look at the disk, and run "annals verify" and "annals blobs verify"';
const ofLog = 'run "annals verify": it says what of the log is not what was recorded';
const ofFiles = 'raise the limit of open files: of the process (ulimit -n), or of the system';
const ofOne = 'too many files may be open (ulimit -n), or it is gone, or not for this user';

/** How many causes of an error are followed: an error may be its own cause. */
const mostCauses = 10;

/** Advice for the operator about an error, or its cause; null if its own message is enough. */
export function adviceOn(error: unknown): string | null {
  let cause = error;
  for (let count = 0; count <= mostCauses; count += 1) {
    if (!(cause instanceof Error) || cause instanceof DamagedReadFileError) return null;
    if (cause instanceof AlteredEventError) return ofLog;
    if (isDiskTrouble(cause)) return ofDisk;
    if (isOutOfFiles(cause)) return ofFiles;
    if (isUnopened(cause)) return ofOne;
    cause = cause.cause;
  }
  return null;
}

/** The message of an error, with the advice about it. */
export function advised(error: Error): string {
  const advice = adviceOn(error);
  return advice === null ? error.message : `${error.message}; ${advice}`;
}
