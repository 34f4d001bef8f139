import { prepareLate, type Sqlite } from '../../storage/sqlite.ts';
import { isKnown } from '../facts/catalogue.ts';
import { commitmentOf } from '../facts/envelope.ts';
import { erasedStreams } from '../facts/erasures.ts';
import type { RecordedEvent } from '../facts/log.ts';
import { contradicted, lost } from '../proof/seen-heads.ts';
import { type Ids, timeOfId } from '../store/ids.ts';
import { BrokenLogError } from '../store/log-file.ts';
import { differingRow, parseHeader } from './event-checks.ts';
import { type HeaderRows, openHeaderRows } from './header-rows.ts';
import { eventOf } from './log-reader.ts';
import type { Tip } from './log-tip.ts';
import type { Recorder } from './recorder.ts';
import type { MissingRows, SharedHead, ShippedClaim } from './shipment.ts';
import type { Transactions } from './transactions.ts';

/**
 * Thrown if a replica and the log that it follows are not the same log. Nothing may be written to either before an
 * operator has looked.
 */
export class DivergedError extends BrokenLogError {
  override name = 'DivergedError';
}

/** Thrown for an event that a newer version of the service has written; nothing was written here. */
export class NewerEventError extends Error {
  override name = 'NewerEventError';
  readonly position: number;

  constructor({ position, type, schemaVersion }: { position: number; type: string; schemaVersion: number }) {
    super(
      `event ${position} of the log, ${JSON.stringify(type)} in version ${schemaVersion}, was written by a newer version of Annals, ` +
        'and this one does not know it: install that version on this node',
    );
    this.position = position;
  }
}

/** The parts of a log that take in rows of another node. */
type IngestTools = Pick<Recorder, 'prune' | 'erasing' | 'idempotencyRecords'> & {
  tip: Tip;
  ids: Ids;
  transaction: Transactions;
};

/** The parts of a log, and the statements, with which rows of another node are written. */
type IngestParts = IngestTools & { headers: HeaderRows; statements: ReturnType<typeof prepareStatements> };

/**
 * Prepares the function that writes {@link MissingRows}, the rows of other nodes, into a replica. The function computes
 * the tree anew and compares it with the head; if they differ, nothing is written.
 */
export function openIngest(db: Sqlite, tools: IngestTools): (missed: MissingRows) => RecordedEvent[] {
  const headers = openHeaderRows(db, () => tools.tip.head().log);
  const parts: IngestParts = { ...tools, headers, statements: prepareStatements(db) };
  return (missed) => ingest(parts, missed);
}

function prepareStatements(db: Sqlite) {
  return {
    insertPayload: prepareLate<[position: number, body: string], unknown>(db, 'INSERT INTO payloads VALUES (?, 0, ?)'),
    // The stream that gave the value up may have been erased since; then no row says that it did.
    takeClaim: prepareLate<[ShippedClaim], unknown>(
      db,
      'INSERT INTO claims VALUES (@scope, @value, @stream) ON CONFLICT (scope, value) DO UPDATE SET stream = excluded.stream',
    ),
    giveUpClaim: prepareLate<[ShippedClaim], unknown>(
      db,
      'DELETE FROM claims WHERE scope = @scope AND value = @value AND stream = @stream',
    ),
  };
}

/**
 * Writes what the replica lacks, in one transaction.
 *
 * @returns the events.
 * @throws NewerEventError; DivergedError if the head is behind this replica, or differs from the head that the events
 * give; Error if the rows do not begin after the last event here.
 */
function ingest(parts: IngestParts, missed: MissingRows): RecordedEvent[] {
  const { tip, ids, transaction, prune } = parts;
  const { head, events, from } = missed;
  const before = tip.head();
  if (head) requireSame(before, head);
  if (from !== before.size) throw new Error(`the rows begin after ${from}, and this log ends at ${before.size}`);
  const { batch, after } = transaction.begin(({ recorded, leaves }) => {
    prune();
    for (const event of events) {
      recorded.push(write(parts, event, { log: before.log, position: from + recorded.length + 1 }));
      leaves.push(event.header);
    }
    writeRest(parts, recorded, missed);
  });
  const { recorded } = batch;
  if (head && !isSame(head, after)) {
    transaction.rollBack(batch);
    throw diverged(`the events up to position ${after.size} do not give the head at position ${head.size}`);
  }
  transaction.settle(batch);
  // Later ids sort after these, whatever the clock says here.
  for (const { header } of recorded) ids.raise(Math.max(timeOfId(header.id), Date.parse(header.recordedAt)));
  return recorded;
}

function write(
  { headers, statements }: IngestParts,
  event: MissingRows['events'][number],
  { log, position }: { log: string; position: number },
): RecordedEvent {
  const { id, stream, version, header: text, body } = event;
  const header = parseHeader(text);
  if (!header) throw diverged(`the header of event ${position} cannot be read`);
  const differing = differingRow({ ...event, position }, header);
  if (differing !== null) throw diverged(`event ${position}: ${differing}`);
  if (!isKnown(header)) throw new NewerEventError({ ...header, position });
  if (header.log !== log) throw diverged(`event ${position} is of the log ${header.log}, and not of ${log}`);
  if (body !== null && commitmentOf(body) !== header.payload)
    throw diverged(`event ${position}: its payload is not the one committed to`);
  headers.putText({ position, id, stream, version }, text);
  if (body !== null) statements.insertPayload().run(position, body);
  return eventOf({ header: text, body });
}

/** Writes claims, idempotency records and erasures in the order of {@link Shipment}. */
function writeRest(parts: IngestParts, recorded: readonly RecordedEvent[], missed: MissingRows): void {
  const { erasing } = parts;
  const files = new Map(missed.erasures.map((erasure) => [erasure.position, erasure.files]));
  const next = { claim: 0, record: 0 };
  for (const { header, data } of recorded) {
    if (header.type !== 'document.erased') continue;
    const { position } = header;
    const its = files.get(position);
    if (!its) throw diverged(`event ${position} erased something, and is not among the erasures`);
    if (data === null) throw diverged(`event ${position} erased something, and its payload is missing`);
    writeUpTo(position, parts, { ...missed, next });
    erasing.erase(position, erasedStreams(data));
    erasing.setFiles(position, its);
    files.delete(position);
  }
  const [other] = files.keys();
  if (other !== undefined) throw diverged(`event ${other} is among the erasures, and erased nothing`);
  writeUpTo(Number.POSITIVE_INFINITY, parts, { ...missed, next });
}

/** Writes the next claims up to a position, and the next idempotency records before it. */
function writeUpTo(
  position: number,
  { statements, idempotencyRecords }: IngestParts,
  {
    claims,
    idempotencyRecords: kept,
    next,
  }: Pick<MissingRows, 'claims' | 'idempotencyRecords'> & { next: { claim: number; record: number } },
): void {
  for (let one = claims[next.claim]; one && one.position <= position; one = claims[next.claim]) {
    (one.isTaken ? statements.takeClaim : statements.giveUpClaim)().run(one);
    next.claim += 1;
  }
  for (let one = kept[next.record]; one && one.position < position; one = kept[next.record]) {
    idempotencyRecords.keep(one, one, one.recordedAt);
    next.record += 1;
  }
}

/** @throws DivergedError if a shared head cannot be the head of a log that extends this one. */
function requireSame(here: SharedHead, head: SharedHead): void {
  if (head.log !== here.log) throw diverged(`it is the log ${head.log}, and not ${here.log}`);
  const seen = { ...here, name: 'this node' };
  if (head.size < here.size) throw diverged(lost(head.size, seen));
  if (head.size === here.size && !head.root.equals(here.root)) throw diverged(contradicted(seen));
}

function isSame(one: SharedHead, other: SharedHead): boolean {
  return one.size === other.size && one.root.equals(other.root) && one.recordedAt === other.recordedAt;
}

function diverged(finding: string): DivergedError {
  return new DivergedError(`this replica and the log that it follows differ: ${finding}`);
}
