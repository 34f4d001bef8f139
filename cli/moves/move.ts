import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readLog } from '../../events/log/log-reader.ts';
import { AddressError, readAddress } from '../../events/postgres/address.ts';
import { openArrival } from '../../events/postgres/arrival.ts';
import { MoveError } from '../../events/postgres/move-error.ts';
import { moveIn } from '../../events/postgres/moving-in.ts';
import { SharedLogUnavailableError } from '../../events/replica/shared-log.ts';
import { namesFiles } from '../../events/service-events/blobs.ts';
import { BrokenLogError, formatOf, openLogToRead, sealFinding } from '../../events/store/log-file.ts';
import { logFormat } from '../../events/store/log-tables.ts';
import { movedTo } from '../../events/store/moved.ts';
import { withVault } from '../../events/vault/vault.ts';
import { logFile } from '../../projections/tables/files.ts';
import { showProgress } from '../../server/platform/progress.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { type Settings, UsageError } from '../../server/settings/settings.ts';
import { StartError } from '../../server/writer/writer.ts';
import { messageOf } from '../../storage/errors.ts';
import type { PostgresAddress } from '../../storage/postgres/connection.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { existingLog } from '../data-directory.ts';
import type { moveFlags } from '../flags.ts';
import { existingVault, requireLog } from '../held-directory.ts';
import { printLine } from '../terminal.ts';
import { vaultOf } from './vault.ts';

/** `annals log move`: exit 0 moved, 2 could not: the log is where it was. */
export async function moveLog({ settings, flags }: CommandLine<typeof moveFlags>): Promise<number> {
  const isBack = flags.to === 'sqlite';
  const isLost = flags['without-postgres'] === true;
  if (isLost && (!isBack || flags['to-file'] !== undefined))
    throw new UsageError('--without-postgres goes with --to sqlite');
  if (!isLost && flags.reason !== undefined)
    throw new UsageError('--reason goes with --without-postgres: the log keeps the reason for another key');
  try {
    if (isLost) {
      const { withoutPostgres } = await import('./without-postgres.ts');
      return await withoutPostgres(settings, flags.reason);
    }
    const address = isBack ? sourceOf(settings, flags) : targetOf(settings, flags);
    if (!isBack) return await intoPostgres(settings, address);
    const { outOfPostgres } = await import('./out-of-postgres.ts');
    return await outOfPostgres(settings, address);
  } catch (error) {
    const isTold = [MoveError, BrokenLogError, SharedLogUnavailableError].some((kind) => error instanceof kind);
    throw isTold ? new StartError(messageOf(error)) : error;
  }
}

type Target = { to?: string; 'to-file'?: string };

function targetOf({ log }: Settings, { to, 'to-file': file }: Target): PostgresAddress {
  if (to !== undefined && file !== undefined)
    throw new UsageError('--to and --to-file are both given; give one of them');
  const [text, source] =
    file === undefined ? [to ?? log, to === undefined ? 'ANNALS_POSTGRES_URL' : '--to'] : [contentOf(file), file];
  if (text === undefined)
    throw new UsageError(
      '--to is missing: the address of PostgreSQL; --to-file and ANNALS_POSTGRES_URL keep it out of the list of processes',
    );
  try {
    return readAddress(text);
  } catch (error) {
    throw error instanceof AddressError ? new UsageError(`${source}: ${error.message}`) : error;
  }
}

function sourceOf({ log }: Settings, { 'to-file': file }: Target): PostgresAddress {
  if (file !== undefined) throw new UsageError('--to sqlite and --to-file are both given; give one of them');
  if (log === undefined) throw new UsageError('ANNALS_POSTGRES_URL is missing: the address of the log that is moved');
  return readAddress(log);
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new UsageError(`--to-file: the file ${file} cannot be read`);
  }
}

async function intoPostgres(settings: Settings, address: PostgresAddress): Promise<number> {
  const directory = existingLog(settings);
  const file = logFile(directory);
  const { name, size, token } = lookAt(settings, directory);
  const arrival = await openArrival({
    address,
    site: settings.site ?? '',
    warn: (message) => process.stderr.write(`warning: ${message}\n`),
  });
  let vault: ReturnType<typeof vaultOf> | null = null;
  try {
    const before = await arrival.look();
    if (before !== null && before.name !== name)
      throw new MoveError(
        `the database has another log already, ${before.name} with ${before.size} events: name an empty database`,
      );
    if (before?.state === 'here' && before.token !== token)
      throw new MoveError(`the database has this log already, with ${before.size} events: name an empty database`);
    if (before?.state === 'arriving' && before.size > 0 && before.size < size)
      await printLine(`going on where the move was stopped: ${before.size} of ${size} events`);
    await arrival.begin(name);
    vault = vaultOf(directory, name, arrival);
    const moved = await moveIn({
      file,
      arrival,
      companion: vault,
      progress: { copied: showProgress('copying'), compared: showProgress('comparing') },
    });
    const waited = moved.frozen > 0 ? `; writes waited for ${Math.round(moved.frozen)} ms` : '';
    return printLine(
      `the log is in PostgreSQL now, with ${moved.size} events${waited}. A service that still runs on this data directory ` +
        'answers reads and refuses writes: start it again with ANNALS_POSTGRES_URL',
    );
  } finally {
    vault?.close();
    await arrival.close();
  }
}

/** Looks whether the log of a data directory can be moved. @throws MoveError, BrokenLogError. */
function lookAt(settings: Settings, directory: string) {
  const db = openLogToRead(logFile(directory));
  try {
    requireLog(db);
    if (formatOf(db) < logFormat)
      throw new MoveError(`log.db has format ${formatOf(db)}: start the service once, which brings it to ${logFormat}`);
    const head = readLog(db).head();
    const finding = withVault(existingVault(directory), (_, seals) => sealFinding(formatOf(db), head, seals));
    if (finding !== null) throw new BrokenLogError(finding);
    refuseUnmovable(settings, directory, db);
    return { name: head.log, size: head.size, token: movedTo(db) };
  } finally {
    db.close();
  }
}

function refuseUnmovable({ bucket }: Settings, directory: string, db: Sqlite): void {
  if (bucket === undefined && namesFiles(db))
    throw new MoveError(
      `uploaded files are in ${join(directory, 'blobs')}, which other nodes cannot reach: keep them in a bucket first ` +
        '(ANNALS_S3_ENDPOINT, ANNALS_S3_BUCKET, ANNALS_S3_ACCESS_KEY, ANNALS_S3_SECRET_KEY)',
    );
}
