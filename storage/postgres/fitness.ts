import { UnfitServerError } from './errors.ts';

/** The settings of a server that decide whether a commit is durable. */
const names = ['fsync', 'full_page_writes', 'server_encoding', 'synchronous_standby_names'];

/** The query for {@link refuseUnfit}. A database that only resembles PostgreSQL may have no rows for these settings. */
export const settingsQuery = `SELECT name, setting FROM pg_settings WHERE name IN (${names.map((name) => `'${name}'`).join(', ')})`;

export type SettingRow = { name: string; setting: string };

/**
 * Checks the settings of a server. Check every new connection, because it may lead to another server.
 *
 * @returns the warning for the operator; null for a fit server.
 * @throws UnfitServerError for a server that loses acknowledged commits when its machine fails.
 */
export function refuseUnfit(rows: readonly SettingRow[]): string | null {
  const settings = new Map(rows.map(({ name, setting }) => [name, setting]));
  for (const name of ['fsync', 'full_page_writes']) {
    if (settings.get(name) === 'off')
      throw new UnfitServerError(
        `PostgreSQL runs with ${name} = off: a failure of its machine damages the log; set it to on`,
      );
  }
  const encoding = settings.get('server_encoding');
  if (encoding !== undefined && encoding !== 'UTF8')
    throw new UnfitServerError(`the database has the encoding ${encoding}; the log needs UTF8`);
  if (settings.get('synchronous_standby_names') !== '') return null;
  return (
    'PostgreSQL has no synchronous standby (synchronous_standby_names is empty): ' +
    'when its primary fails, the newest acknowledged writes can be lost'
  );
}
