import type { Sqlite } from '../../storage/sqlite.ts';
import { macOf, type Seals, sealKeyOf } from '../proof/seals.ts';
import {
  againstUpgrade,
  BrokenLogError,
  earlierFormat,
  putHead,
  turnedBack,
  type UnsealedHead,
  wayOut,
} from '../store/log-file.ts';
import {
  addedTables,
  eventGuards,
  eventIndexes,
  eventsTable,
  headTable,
  logFormat,
  segmentDeleteGuard,
  segmentTables,
  timestampsTable,
} from '../store/log-tables.ts';
import { clearMoved, markMoved, movedTo } from '../store/moved.ts';
import { type EventRow, headerColumns } from './event-checks.ts';
import { openHeaderRows } from './header-rows.ts';

/** A MAC that no head has. */
const noMac = Buffer.alloc(32);

/**
 * Brings a log of an earlier format to this one, and seals its head. It never changes what events say. A log that only
 * the operator accepts is not sealed yet: the commit that records the acceptance seals it.
 *
 * @returns the format that the log had; null if there was nothing to do.
 * @throws BrokenLogError if this vault has sealed the log before, an event is of this format, or the vault does not
 * know the log: then it need not be a log of an earlier format.
 */
export function upgradeLog(db: Sqlite, seals: Seals): number | null {
  const format = earlierFormat(db);
  if (format === null) return null;
  if (format >= 3) {
    // Its head is sealed; later checks look at the seal.
    const upgrade = db.transaction(() => {
      if (format === 3) addSegments(db);
      splitHeaders(db);
    });
    upgrade.immediate();
    return format;
  }
  const heads = db.prepare('SELECT log, size, root, recorded_at AS recordedAt FROM head').all() as UnsealedHead[];
  const newer = db.prepare(`SELECT position FROM events WHERE instr(header, '"v":2,"version":') LIMIT 1`).pluck().get();
  const isNewer = newer === undefined ? null : turnedBack(format, `event ${String(newer)} is of format 3`);
  const refusal = isNewer ?? againstUpgrade(format, heads, seals);
  if (refusal !== null && !seals.acceptsUnsealed) throw new BrokenLogError(`${refusal}; ${wayOut}`);
  const key = sealKeyOf(seals.key);
  const upgrade = db.transaction(() => {
    if (format === 1) db.exec(addedTables);
    db.exec(timestampsTable);
    db.exec('DROP TABLE head');
    db.exec(headTable);
    for (const head of heads) putHead(db, head, refusal === null ? macOf(key, head) : noMac);
    addSegments(db);
    splitHeaders(db);
  });
  upgrade.immediate();
  return format;
}

/** Writes the headers of an earlier format as members. */
function splitHeaders(db: Sqlite): void {
  const token = movedTo(db);
  if (token !== null) clearMoved(db);
  // Other tables refer to the rows, which are missing for a moment.
  db.pragma('defer_foreign_keys = 1');
  db.exec(
    `CREATE TEMP TABLE former_events AS SELECT ${headerColumns} FROM main.events; DROP TABLE main.events; ${eventsTable}`,
  );
  const log = db.prepare<[], string>('SELECT log FROM head').pluck().get() ?? '';
  const { putText } = openHeaderRows(db, () => log);
  const select = db.prepare<[after: number], EventRow>(
    `SELECT ${headerColumns} FROM temp.former_events WHERE position > ? ORDER BY position LIMIT 500`,
  );
  for (let rows = select.all(Number.MIN_SAFE_INTEGER); rows.length > 0; rows = select.all(rows.at(-1)?.position ?? 0))
    for (const row of rows) putText(row, row.header);
  db.exec(`DROP TABLE temp.former_events; ${eventIndexes}${eventGuards}`);
  if (token !== null) markMoved(db, token);
  db.pragma(`user_version = ${logFormat}`);
}

function addSegments(db: Sqlite): void {
  db.exec(segmentTables);
  db.exec(`DROP TRIGGER payloads_delete; ${segmentDeleteGuard}`);
}
