import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Sqlite } from '../../storage/sqlite.ts';
import type { Finding, Trouble } from '../proof/seen-heads.ts';
import { SegmentError, SegmentOffloadedError } from '../segments/offloaded.ts';
import { readIndex } from '../segments/segment-file.ts';
import { reading, type Segment, segmentFolder, segmentName, wholeSegment } from '../segments/segments.ts';

/**
 * Checks the files of the segments of a log, one in each step: they follow each other from position 1 without a gap,
 * and each is what its row says. Their payloads are checked with the events.
 */
export function* checkSegments(db: Sqlite): Generator<number, Trouble | null> {
  const next = db.prepare<[after: number], Segment>(
    'SELECT first, last, file, sha256, bytes, raw FROM segments WHERE first > ? ORDER BY first LIMIT 1',
  );
  const size = db.prepare<[], number>('SELECT size FROM head').pluck();
  let after = 0;
  for (let row = next.get(0); row; row = next.get(row.first)) {
    const { first, last } = row;
    if (first !== after + 1 || last < first || last > (size.get() ?? 0))
      return {
        finding: `the segment of events ${first} to ${last} does not go on after event ${after}`,
        from: null,
        to: null,
      };
    const finding = faultOf(db, row);
    // The segment may have been written anew since its row was read.
    const now = finding === null ? row : next.get(first - 1);
    const again = finding === null || now?.file === row.file ? finding : now ? faultOf(db, now) : finding;
    if (again !== null) return { finding: again, from: first, to: last };
    after = last;
    yield 0;
  }
  return null;
}

function faultOf(db: Sqlite, row: Segment): Finding | null {
  const { first, last, file, sha256, bytes } = row;
  const path = join(segmentFolder(db.name), file);
  const which = `the segment of events ${first} to ${last}`;
  if (file !== segmentName(row)) return `${which} has a file of another name, ${file}`;
  try {
    return reading(path, () => {
      const found = wholeSegment(path);
      if (found.length !== bytes || !hash('sha256', found, 'buffer').equals(sha256))
        return `${which} was altered: ${file} is not the file that log.db has`;
      const index = readIndex(found);
      const isIts = index.first === first && index.last === last && index.size === bytes;
      return isIts ? null : `${which} was altered: ${file} holds events ${index.first} to ${index.last}`;
    });
  } catch (error) {
    // A thread that does not wait for the bucket leaves the segment to a thread that does.
    if (error instanceof SegmentOffloadedError) return null;
    if (!(error instanceof SegmentError)) throw error;
    return `${error.message}: segments/${file}`;
  }
}
