import { isDeepStrictEqual } from 'node:util';
import { schemaStream, splitStream } from '../../events/facts/catalogue.ts';
import { headerOf } from '../../events/facts/envelope.ts';
import { schemaKey } from '../../events/facts/upcasters.ts';
import { eventOf } from '../../events/log/log-reader.ts';
import type { Finding } from '../../events/proof/seen-heads.ts';
import { SegmentOffloadedError } from '../../events/segments/offloaded.ts';
import { isDiskFull, openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import type { Projection } from '../tables/projection.ts';
import { openProjector, type Projector } from '../tables/projector.ts';
import { createIndexes, createTables, type Tables } from '../tables/tables.ts';
import type { LogAndTables } from './verify-claims.ts';

/** The limits of one round: documents, tries to pick them, versions of each, and pages of 4 KiB for all. */
const most = { documents: 8, tries: 16, versions: 500, pages: 4096 };
const pageBytes = 128 * 1024;

/**
 * Folds some random documents from the log, and compares their live and past rows in the read file, beside a service
 * that keeps writing. Each step is a separate read. It leaves out documents with more versions than a round folds, with
 * payloads in the bucket, or with changes meanwhile.
 */
export function* checkDocuments(
  files: LogAndTables,
  { tables, upcaster }: Projection,
  random: () => number = Math.random,
): Generator<void, Finding | null> {
  const { log, read } = files;
  const selectReached = read.prepare<[], number>('SELECT position FROM checkpoint').pluck();
  const byKey = new Map(tables.map((one) => [one.key, one]));
  const picked = new Map<string, Tables>();
  const reached = selectReached.get() ?? 0;
  for (let tries = 0; tries < most.tries && picked.size < most.documents && reached > 0; tries += 1) {
    const position = Math.floor(random() * reached);
    const [text] = log.headers(position, position + 1);
    const stream = text === undefined ? '' : headerOf(text).stream;
    const found = byKey.get(schemaKey(stream));
    if (found && log.versionOf(stream) <= most.versions) picked.set(stream, found);
    yield;
  }
  if (picked.size === 0) return null;

  const db = openDatabase(':memory:', { durability: 'off' });
  try {
    db.pragma(`max_page_count = ${most.pages}`);
    const used = [...new Set([...picked.values()].flatMap(linesIn))];
    createTables(db, used);
    // The projector forgets erased documents by an index.
    createIndexes(db, used);
    const projector = openProjector(db, { tables: used, upcaster }, { isPart: true });
    yield;
    for (const [stream, its] of picked) {
      const upTo = selectReached.get() ?? 0;
      const schemas = log.versionOf(schemaStream);
      if (!(yield* fold(files, projector, { stream, upTo }))) continue;
      const [, id] = splitStream(stream);
      const isSame = linesIn(its).every((tables) => compareRows(db, read, { tables, id }));
      const isOld =
        (log.lastOf(stream, log.head().size)?.position ?? 0) > upTo ||
        log.erasures.newest() > upTo ||
        log.versionOf(schemaStream) !== schemas;
      if (!isSame && !isOld) return `the rows of ${stream} are not what its events make`;
      yield;
    }
    return null;
  } catch (error) {
    // The documents are too large for a round.
    if (isDiskFull(error)) return null;
    throw error;
  } finally {
    db.close();
  }
}

/** The tables of both lines, or of the one. */
function linesIn(tables: Tables): Tables[] {
  return tables.drafts ? [tables, tables.drafts] : [tables];
}

/** False if payloads are in the bucket. */
function* fold(
  { log }: LogAndTables,
  projector: Projector,
  { stream, upTo }: { stream: string; upTo: number },
): Generator<void, boolean> {
  try {
    for (let after = 0; ; ) {
      const texts = log.streamTextsWithin(stream, { after, upTo, bytes: pageBytes });
      if (texts.length === 0) return true;
      projector.apply(texts.map(eventOf), Buffer.alloc(32));
      after += texts.length;
      yield;
    }
  } catch (error) {
    if (error instanceof SegmentOffloadedError) return false;
    throw error;
  }
}

/**
 * Compares the rows of a document. Only the links that it should have are compared: others cannot be found by the
 * document.
 */
function compareRows(made: Sqlite, read: Sqlite, { tables, id }: { tables: Tables; id: string }): boolean {
  const { documents, texts, versions, pastTexts, linkTable, pastLinks } = tables;
  const queries = [
    `SELECT * FROM ${documents} WHERE id = ?`,
    `SELECT key, doc FROM ${texts} WHERE key IN (SELECT key FROM ${documents} WHERE id = ?)`,
    `SELECT * FROM ${versions} WHERE id = ? ORDER BY valid_to`,
    `SELECT valid_from, doc FROM ${pastTexts} WHERE valid_from IN (SELECT valid_from FROM ${versions} WHERE id = ?) ORDER BY valid_from`,
  ];
  const rowsOf = (db: Sqlite, query: string) => db.prepare<[id: string]>(query).raw().all(id);
  const areSame = queries.every((query) => isDeepStrictEqual(rowsOf(made, query), rowsOf(read, query)));
  if (!areSame || linkTable === '') return areSame;
  return [linkTable, pastLinks].every((table) => {
    const columns = table === linkTable ? linkColumns : [...linkColumns, 'valid_to'];
    const has = read.prepare<unknown[]>(
      `SELECT 1 FROM ${table} WHERE ${columns.map((column) => `${column} = ?`).join(' AND ')}`,
    );
    const expected = made
      .prepare<[id: string], unknown[]>(`SELECT ${columns.join(', ')} FROM ${table} WHERE source = ?`)
      .raw();
    return expected.all(id).every((row) => has.get(...row) !== undefined);
  });
}

const linkColumns = ['field', 'target', 'source', 'valid_from'];
