import { counted } from '../../config/counted.ts';
import type { LockHolder, LockWaits } from '../../events/postgres/lock-waits.ts';
import { type DoctorFinding, note, ok, trouble } from './findings.ts';

const name = 'log lock';

/** After this many seconds a node that does nothing under the lock loses it. */
const patienceSeconds = 2;

/** Checks whether writes wait for the lock of the log, which one session has at a time. */
export function checkLock(found: LockWaits | null): DoctorFinding {
  if (!found) return note(name, 'this server does not tell which sessions wait for it');
  const { waiting, holders } = found;
  const longest = Math.max(0, ...waiting);
  const isLong = longest > patienceSeconds;
  const told = (isLong ? holders : holders.filter(isLeft)).map(describe);
  const waits =
    waiting.length === 0
      ? 'no write waits for it'
      : `${counted(waiting.length, 'write waits', 'writes wait')} for it, the longest for ${longest.toFixed(1)} seconds`;
  return isLong || told.length > 0 ? trouble(name, [waits, ...told].join('; ')) : ok(name, waits);
}

/** Whether a session does nothing under the lock, for longer than a node could. */
function isLeft({ state, seconds }: LockHolder): boolean {
  return state?.startsWith('idle in transaction') === true && (seconds ?? 0) > patienceSeconds;
}

function describe({ pid, application, address, state, seconds, waitsForStandby }: LockHolder): string {
  const from = [application, address ?? ''].filter((part) => part !== '').join(', ');
  const session = `the session ${pid}${from === '' ? '' : ` (${from})`} has it`;
  // To cancel such a commit would show what no standby has.
  if (waitsForStandby) return `${session}, and its commit waits for a standby`;
  if (state === null || seconds === null) return `${session}; the role may not see what it does`;
  const lasting = `${session} for up to ${seconds.toFixed(1)} seconds, ${state}`;
  return seconds > patienceSeconds ? `${lasting}: SELECT pg_terminate_backend(${pid}) ends it` : lasting;
}
