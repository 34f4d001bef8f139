import { invalidBody } from '../../config/errors.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { type Header, headerOf } from '../facts/envelope.ts';
import { filesNamedIn } from '../facts/named-files.ts';
import { readLog } from '../log/log-reader.ts';
import { collectMissing } from '../segments/offloaded.ts';
import { payloadColumns, withSegments } from '../segments/segments.ts';
import { BrokenLogError } from '../store/log-file.ts';

/**
 * An event that names a stored file. Its document needs the bytes from this version on, until a version that names
 * another file.
 */
export type NamedFile = { sha256: string } & Pick<Header, 'position' | 'stream' | 'version'>;

type CandidateRow = { position: number; header: string; enc: number; body: string };

/** The number of positions that are read in one go. Few of them name files, so few rows are held. */
const chunk = 2000;

/**
 * The files that the events at positions `after + 1` to `upTo` name, in the order of the log. It rather gives one too
 * many than one too few: every `document.…` event that has a SHA-256 as `sha256` counts, even if its collection takes
 * no files, or is gone. An event whose payload was erased names nothing.
 *
 * @throws BrokenLogError for a payload that cannot be read, for the files that it names are not known.
 */
export function* readNamings(
  db: Sqlite,
  after: number,
  upTo: number,
  progress: (done: number, total: number) => void = () => {},
): Generator<NamedFile> {
  // Every payload is searched as text, half a GB in a second; only payloads with the word are parsed.
  const select = withSegments(db).prepare<[after: number, upTo: number], CandidateRow>(
    `SELECT * FROM (
       SELECT events.position, header, ${payloadColumns} FROM headers AS events LEFT JOIN payloads USING (position)
       WHERE events.position > ? AND events.position <= ?
     ) WHERE enc <> 0 OR instr(body, '"sha256":"') > 0 ORDER BY position`,
  );
  for (let start = after; start < upTo; start += chunk) {
    const end = Math.min(start + chunk, upTo);
    for (const row of collectMissing(() => select.all(start, end))) yield* namingsIn(row);
    progress(end - after, upTo - after);
  }
}

function* namingsIn({ position, header, enc, body }: CandidateRow): Generator<NamedFile> {
  if (enc !== 0) throw new BrokenLogError(`event ${position}: its payload has an unknown encoding ${enc}`);
  const parsed = headerOf(header);
  const { stream, version } = parsed;
  for (const sha256 of filesNamedIn(parsed, body)) yield { sha256, position, stream, version };
}

/** Whether some event of the log names a file. */
export function namesFiles(db: Sqlite): boolean {
  return !readNamings(db, 0, readLog(db).head().size).next().done;
}

/** Tells whether an event after a position names a file; up to date at every call. */
export type Tail = (position: number, sha256: string) => boolean;

/**
 * Reads the end of a log that is being written. Events are read once, as long as all questions are about one position.
 */
export function openTail(db: Sqlite): Tail {
  const log = readLog(db);
  const named = new Set<string>();
  let after = -1;
  let upTo = -1;

  return (position, sha256) => {
    const { size } = log.head();
    if (position > size) throw invalidBody('out_of_range', `the log ends at position ${size}, got ${position}`);
    if (position !== after) {
      named.clear();
      after = position;
      upTo = position;
    }
    for (const naming of readNamings(db, upTo, size)) named.add(naming.sha256);
    upTo = size;
    return named.has(sha256);
  };
}
