import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { inWords } from '../../events/facts/durations.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { readCheckpoints } from '../../events/proof/checkpoints.ts';
import { openLogToRead } from '../../events/store/log-file.ts';
import { readSecret, withVault } from '../../events/vault/vault.ts';
import { logFile } from '../../projections/tables/files.ts';
import { readAltered } from '../../server/audit/notary/altered-note.ts';
import type { Alteration } from '../../server/ports.ts';
import { operatorSecret } from '../../server/running/thread-data.ts';
import { messageOf } from '../../storage/errors.ts';
import { type DoctorFinding, note, ok, trouble } from './findings.ts';

/** Of the log: its id, its last time, and its newest checkpoint. */
type LogState = {
  log: string;
  recordedAt: string;
  size: number;
  newest: { signedAt: string; isStored: boolean } | null;
};

/** Checks of the log of a data directory with what belongs to it. */
export function checkLog(directory: string, now: number): DoctorFinding[] {
  const file = logFile(directory);
  if (!existsSync(file)) return [note('vault', 'there is no log yet: the first start makes it')];
  let known: LogState;
  try {
    known = look(file);
  } catch (error) {
    return [trouble('vault', `the log cannot be read: ${messageOf(error)}; annals verify says more`)];
  }
  const altered = readAltered(directory);
  return [
    checkClock(known, now),
    checkVault(directory, known),
    altered ? alteredTrouble(altered) : checkCheckpoints(known, now),
  ];
}

function look(file: string): LogState {
  const db = openLogToRead(file);
  try {
    const { log, recordedAt, size } = readLog(db).head();
    const [newest = null] = readCheckpoints(db).recent(1);
    return { log, recordedAt, size, newest };
  } finally {
    db.close();
  }
}

/** The log itself is read by another command. */
function alteredTrouble({ at, finding, part }: Alteration): DoctorFinding {
  const what = part === 'log' ? 'none is signed, for the log' : 'what follows from the log';
  return trouble('checkpoints', `${what} was found to be altered, at ${at}: ${finding}; annals verify says more`);
}

const secondMilliseconds = 1000;
/** The clock of a machine without a time service is soon off by more. */
const lagMilliseconds = 60_000;
/** No build of Annals is older. */
const earliest = Date.UTC(2025, 0, 1);

function checkClock({ recordedAt }: LogState, now: number): DoctorFinding {
  const lag = Date.parse(recordedAt) - now;
  const told = `the clock says ${new Date(now).toISOString()}`;
  if (now < earliest) return trouble('clock', `${told}, which is in the past: set it`);
  if (lag > lagMilliseconds)
    return trouble(
      'clock',
      `${told}, and the last event was recorded ${inWords(lag)} later; annals clock correct --help says more`,
    );
  return ok(
    'clock',
    `${told}, the last event was recorded ${lag > -secondMilliseconds ? 'now' : `${inWords(-lag)} ago`}`,
  );
}

function checkVault(directory: string, { log }: LogState): DoctorFinding {
  const vault = join(directory, 'vault.db');
  if (!existsSync(vault)) return trouble('vault', 'vault.db is missing: restore it with the log of the same backup');
  try {
    const isOf = withVault(vault, (keys) => keys.known(log).length > 0);
    if (!isOf) return trouble('vault', 'vault.db has no key of this log: it is that of another one');
    if (readSecret(vault, operatorSecret) === null)
      return note('vault', 'vault.db is that of this log, and has no secret for commands yet');
    return ok('vault', 'vault.db is that of this log');
  } catch (error) {
    return trouble('vault', `vault.db cannot be read: ${messageOf(error)}`);
  }
}

/** The service signs every ten seconds if there are new events, and delivers checkpoints within minutes. */
const patienceMilliseconds = 10 * 60_000;

function checkCheckpoints({ newest }: LogState, now: number): DoctorFinding {
  if (!newest) return note('checkpoints', 'none is signed yet: the service signs some seconds after the first event');
  const told = `the newest was signed ${newest.signedAt}`;
  if (newest.isStored) return ok('checkpoints', `${told}, and a copy is in the store of files`);
  if (now - Date.parse(newest.signedAt) < patienceMilliseconds)
    return note('checkpoints', `${told}, and a copy is not in the store of files yet`);
  return trouble('checkpoints', `${told}, and no copy is in the store of files: the log of the service says why`);
}
