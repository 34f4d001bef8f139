import { existsSync } from 'node:fs';
import { readReplicaMark } from '../../../events/replica/replica-mark.ts';
import { movedTo } from '../../../events/store/moved.ts';
import { logFile } from '../../../projections/tables/files.ts';
import { withDatabase } from '../../../storage/sqlite.ts';
import type { Settings } from '../../settings/settings.ts';
import { StartError } from '../../writer/writer.ts';

/**
 * Checks that a data directory fits the settings: a replica of the log in PostgreSQL, or a directory with its own log.
 *
 * @throws StartError if it does not.
 */
export function requireKind(directory: string, { log }: Pick<Settings, 'log'>): void {
  const mark = readReplicaMark(directory);
  if (log === undefined && mark !== null) {
    throw new StartError(
      `the data directory ${directory} is a replica of the log ${mark.log} in PostgreSQL: set ANNALS_POSTGRES_URL to its address, ` +
        'or name another data directory',
    );
  }
  if (log !== undefined && mark === null && isOwn(logFile(directory))) {
    throw new StartError(
      `the data directory ${directory} has a log of its own, which is not the one in PostgreSQL: name an empty data directory ` +
        'for this node; annals log move moves a log into PostgreSQL',
    );
  }
}

/** Whether a file is a log that has not moved to PostgreSQL. */
function isOwn(file: string): boolean {
  return existsSync(file) && withDatabase(file, { readonly: true, cacheMiB: 1 }, movedTo) === null;
}
