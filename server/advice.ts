import { AlteredEventError } from '../events/altered.ts';
import { DamagedReadFileError } from '../projections/damage.ts';
import { isDiskTrouble, isOutOfFiles, isUnopened } from '../storage/sqlite.ts';

const ofDisk =
  'the disk fails, or what was written to it has been changed: look at the disk, and run "annals verify" and "annals blobs verify"';
const ofLog = 'run "annals verify": it says what of the log is not what was recorded';
const ofFiles = 'raise the limit of open files: of the process (ulimit -n), or of the system';
const ofOne = 'too many files may be open (ulimit -n), or it is gone, or not for this user';

/** What the operator can do about an error, or about what has caused it; null where its own words are all there is to say. */
export function adviceOn(error: unknown): string | null {
  if (!(error instanceof Error) || error instanceof DamagedReadFileError) return null;
  if (error instanceof AlteredEventError) return ofLog;
  if (isDiskTrouble(error)) return ofDisk;
  if (isOutOfFiles(error)) return ofFiles;
  if (isUnopened(error)) return ofOne;
  return adviceOn(error.cause);
}

/** The message of an error, with what can be done about it. */
export function advised(error: Error): string {
  const advice = adviceOn(error);
  return advice === null ? error.message : `${error.message}; ${advice}`;
}
