import { prepareLate, type Sqlite } from '../../storage/sqlite.ts';
import { isKnown } from '../facts/catalogue.ts';
import { commitmentOf } from '../facts/envelope.ts';
import { erasedStreams } from '../facts/erasures.ts';
import type { RecordedEvent } from '../facts/log.ts';
import { contradicted, lost } from '../proof/seen-heads.ts';
import { type Ids, timeOfId } from '../store/ids.ts';
import { BrokenLogError } from '../store/log-file.ts';
import { differingRow, parseHeader } from './event-checks.ts';
import { openHeaderRows } from './header-rows.ts';
import { eventOf } from './log-reader.ts';
import type { Tip } from './log-tip.ts';
import type { Recorder } from './recorder.ts';
import type { MissingRows, SharedHead, ShippedClaim } from './shipment.ts';
import type { Transactions } from './transactions.ts';

/**
 * Thrown where a replica and the log that it follows are not the same log: neither is to be written to before an
 * operator has looked.
 */
export class DivergedError extends BrokenLogError {
  override name = 'DivergedError';
}

/** Thrown for an event that a newer version of the service has written; nothing was written. `position`: its place. */
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

type Parts = Pick<Recorder, 'prune' | 'erasing' | 'idempotencyRecords'> & {
  tip: Tip;
  ids: Ids;
  transaction: Transactions;
};

/**
 * Gives the function that writes the rows of other nodes, {@link MissingRows}, into a log that is a replica. It
 * computes the tree anew and compares it with the head; nothing is written if they differ.
 */
export function openIngest(db: Sqlite, { tip, ids, transaction, prune, erasing, idempotencyRecords }: Parts) {
  const headers = openHeaderRows(db, () => tip.head().log);
  const insertPayload = prepareLate<[position: number, body: string], unknown>(
    db,
    'INSERT INTO payloads VALUES (?, 0, ?)',
  );
  // A stream that gave it up may have been erased since: then nothing says so.
  const take = prepareLate<[ShippedClaim], unknown>(
    db,
    'INSERT INTO claims VALUES (@scope, @value, @stream) ON CONFLICT (scope, value) DO UPDATE SET stream = excluded.stream',
  );
  const giveUp = prepareLate<[ShippedClaim], unknown>(
    db,
    'DELETE FROM claims WHERE scope = @scope AND value = @value AND stream = @stream',
  );

  /**
   * Writes what this replica lacks, in one transaction.
   *
   * @returns the events.
   * @throws NewerEventError; DivergedError where the head is behind this replica, or is not the one that the events
   * give; Error where they do not begin after the last event here.
   */
  function ingest({ head, events, claims, idempotencyRecords: kept, erasures, from }: MissingRows): RecordedEvent[] {
    const before = tip.head();
    if (head) requireSame(before, head);
    if (from !== before.size) throw new Error(`the rows begin after ${from}, and this log ends at ${before.size}`);
    const { batch, after } = transaction.begin(({ recorded, leaves }) => {
      prune();
      for (const event of events) {
        recorded.push(write(before.log, from + recorded.length + 1, event));
        leaves.push(event.header);
      }
      follow(recorded, { claims, idempotencyRecords: kept, erasures });
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

  function write(log: string, position: number, event: MissingRows['events'][number]): RecordedEvent {
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
    if (body !== null) insertPayload().run(position, body);
    return eventOf({ header: text, body });
  }

  /** Writes the rest in the order of {@link Shipment}. */
  function follow(
    recorded: readonly RecordedEvent[],
    { claims, idempotencyRecords: kept, erasures }: Pick<MissingRows, 'claims' | 'idempotencyRecords' | 'erasures'>,
  ): void {
    const files = new Map(erasures.map((erasure) => [erasure.position, erasure.files]));
    let nextClaim = 0;
    let nextRecord = 0;
    /** The claims up to a position, and the idempotency records before it. */
    const followTo = (position: number) => {
      for (let one = claims[nextClaim]; one && one.position <= position; one = claims[nextClaim]) {
        (one.isTaken ? take : giveUp)().run(one);
        nextClaim += 1;
      }
      for (let one = kept[nextRecord]; one && one.position < position; one = kept[nextRecord]) {
        idempotencyRecords.keep(one, one, one.recordedAt);
        nextRecord += 1;
      }
    };
    for (const { header, data } of recorded) {
      if (header.type !== 'document.erased') continue;
      const { position } = header;
      const its = files.get(position);
      if (!its) throw diverged(`event ${position} erased something, and is not among the erasures`);
      if (data === null) throw diverged(`event ${position} erased something, and its payload is missing`);
      followTo(position);
      erasing.erase(position, erasedStreams(data));
      erasing.setFiles(position, its);
      files.delete(position);
    }
    const [other] = files.keys();
    if (other !== undefined) throw diverged(`event ${other} is among the erasures, and erased nothing`);
    followTo(Number.POSITIVE_INFINITY);
  }

  return ingest;
}

/** @throws DivergedError where a head that is shared cannot be that of a log which goes on from here. */
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
