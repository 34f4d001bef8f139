import { type VerifyResult, verifyDirectory } from '../projections/verify/verify.ts';
import { showProgress } from '../server/platform/progress.ts';
import { openHelpers } from '../server/writer/helpers.ts';

/**
 * Verifies a data directory in several threads, and shows how far that is.
 *
 * @param checkLog false: only whether the read tables equal a replay; true by default.
 * @param keys the verifier keys of the log, as {@link verifyDirectory} takes them; none by default.
 */
export function verifyWithProgress(
  directory: string,
  { checkLog = true, keys = [] as readonly string[] } = {},
): VerifyResult {
  return verifyDirectory(directory, checkLog, {
    log: showProgress('reading the log'),
    replay: showProgress('replaying the log'),
    keys,
    helpers: openHelpers(),
  });
}
