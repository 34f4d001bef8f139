import { readCheckpoints } from '../../../events/checkpoints.ts';
import { type NamedKey, readKeyEvents } from '../../../events/key-events.ts';
import { readLog } from '../../../events/log-reader.ts';
import type { Sqlite } from '../../../storage/sqlite.ts';
import type { KeyRecord } from '../../ports.ts';

/**
 * All keys that a log has had, oldest first, as one snapshot of the log tells.
 *
 * @param current the key that signs now, where that is known; else the one that the log names last.
 */
export function keyHistory(db: Sqlite, current: NamedKey | null): KeyRecord[] {
  return db.transaction(() => readHistory(db, current))();
}

function readHistory(db: Sqlite, current: NamedKey | null): KeyRecord[] {
  const log = readLog(db);
  const { log: logId } = log.head();
  const records = new Map<string, KeyRecord>();
  const recordOf = ({ id, verifierKey }: NamedKey): KeyRecord => {
    const blank = { signs: false, since: null, first: null, last: null, replaced: null, disowned: null };
    const record = records.get(id) ?? { id, verifierKey: null, ...blank };
    record.verifierKey ??= verifierKey ?? null;
    records.set(id, record);
    return record;
  };
  let latest: NamedKey | null = null;
  for (const { id, first, last } of readCheckpoints(db).signers(logId)) {
    latest = { id };
    Object.assign(recordOf(latest), { first, last });
  }
  for (const { change, ...event } of readKeyEvents(log)) {
    const told = { ...event, reason: change.reason };
    if (change.kind === 'disowned') {
      recordOf(change.key).disowned = { ...told, signed: change.signed ?? null };
      continue;
    }
    recordOf(change.from).replaced = { ...told, by: change.to.id };
    recordOf(change.to).since = told;
    latest = change.to;
  }
  const signing = current ?? latest;
  if (signing) recordOf(signing).signs = true;
  return [...records.values()].sort((one, other) => beginning(one) - beginning(other));
}

function beginning({ since, first, signs }: KeyRecord): number {
  return since?.position ?? first?.size ?? (signs ? Number.MAX_SAFE_INTEGER : 0);
}
