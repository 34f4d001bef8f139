import { splitStream } from '../../events/facts/catalogue.ts';
import { foldDocument } from '../../events/facts/documents.ts';
import type { Header } from '../../events/facts/envelope.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { schemaKey, type Upcaster } from '../../events/facts/upcasters.ts';
import type { Sqlite, Statement } from '../../storage/sqlite.ts';
import { type AccountFold, openAccountFold } from './account-fold.ts';
import { type ApiKeyFold, openApiKeyFold } from './api-keys.ts';
import { type AuditFold, openAuditFold } from './audit.ts';
import { foldLineVersions } from './line-fold.ts';
import type { Projection } from './projection.ts';
import { openReleaseFold, type ReleaseFold } from './releases.ts';
import { markRows, type RowMarks } from './row-marks.ts';
import { type TableVersion, type TableWriter, tableWriter } from './table-writer.ts';
import { draftKey } from './tables.ts';

/** How far a read file has come: the last position it has applied, and the root of the log's tree there. */
export type ProjectionCheckpoint = { position: number; root: Buffer };

/** A document that the current batch touches: as the table has it, and as it is now. */
type TouchedDocument = { writer: TableWriter; id: string; stored: TableVersion | null; current: TableVersion | null };

export type Projector = ReturnType<typeof openProjector>;

/** `isPart`: fold some of the documents alone, and nothing that needs all events. */
type Options = {
  isPart?: boolean;
  /** The marks of the threads that read these tables and keep rows of them; absent if no thread does. */
  marks?: RowMarks | undefined;
};

/** The tables of a read file, and the upcaster whose events they are folded from. */
type Layout = Pick<Projection, 'tables' | 'upcaster'>;

/** The writers, folds and statements of a projector. */
type ProjectorParts = {
  db: Sqlite;
  upcaster: Upcaster;
  writers: ReadonlyMap<string, TableWriter>;
  /** The writers of drafts, by the keys of their public tables. */
  drafts: ReadonlyMap<string, TableWriter>;
  /** The folds that need all events; null for a part. */
  folds: { accounts: AccountFold; apiKeys: ApiKeyFold; releases: ReleaseFold; audit: AuditFold } | null;
  statements: ReturnType<typeof prepareStatements>;
  mark: ReturnType<typeof markRows> | null;
};

/**
 * Prepares what folds events into the read tables. One function serves single writes and bulk loads: within a batch
 * each document is read at most once and its row written once, whatever happened to it in between.
 */
export function openProjector(db: Sqlite, { tables, upcaster }: Layout, { isPart = false, marks }: Options = {}) {
  const writers = new Map(tables.map((one) => [one.key, tableWriter(db, one)]));
  const drafts = tables.flatMap(({ key, drafts }): [string, TableWriter][] => {
    const writer = drafts && writers.get(drafts.key);
    return writer ? [[key, writer]] : [];
  });
  const parts: ProjectorParts = {
    db,
    upcaster,
    writers,
    drafts: new Map(drafts),
    folds: isPart ? null : openFolds(db),
    statements: prepareStatements(db),
    mark: marks ? markRows(marks) : null,
  };
  const { selectCheckpoint } = parts.statements;
  return {
    checkpoint: (): ProjectionCheckpoint | null => selectCheckpoint.get() ?? null,
    /**
     * Applies events that follow the checkpoint, and moves the checkpoint, in one transaction.
     *
     * @param root the root of the log's tree after the last of them.
     */
    apply: (events: readonly RecordedEvent[], root: Buffer): void => apply(parts, events, root),
  };
}

function openFolds(db: Sqlite): NonNullable<ProjectorParts['folds']> {
  return {
    accounts: openAccountFold(db),
    apiKeys: openApiKeyFold(db),
    releases: openReleaseFold(db),
    audit: openAuditFold(db),
  };
}

function prepareStatements(db: Sqlite) {
  return {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    rollback: db.prepare('ROLLBACK'),
    selectCheckpoint: db.prepare<[], ProjectionCheckpoint>('SELECT position, root FROM checkpoint'),
    deleteCheckpoint: db.prepare('DELETE FROM checkpoint'),
    insertCheckpoint: db.prepare('INSERT INTO checkpoint VALUES (?, ?)'),
    countErasures: db.prepare('UPDATE erasures SET count = count + ?'),
    updateCount: db.prepare('UPDATE counts SET documents = documents + ? WHERE key = ?'),
  };
}

function apply(parts: ProjectorParts, events: readonly RecordedEvent[], root: Buffer): void {
  const { db, folds, statements } = parts;
  const last = events.at(-1);
  if (!last) return;
  // A bulk load has one transaction around all of it.
  const isOurs = !db.inTransaction;
  if (isOurs) statements.begin.run();
  try {
    const touched = new Map<string, TouchedDocument>();
    for (const event of events) {
      applyOne(parts, event, touched);
      if (!folds) continue;
      folds.accounts.apply(event);
      folds.apiKeys.apply(event);
      folds.releases.apply(event);
      folds.audit.apply(event);
    }
    for (const { writer, id, stored, current } of touched.values()) writer.write(id, stored, current);
    count(statements.updateCount, touched);
    const erasures = events.filter(({ header }) => header.type === 'document.erased').length;
    if (erasures > 0) statements.countErasures.run(erasures);
    statements.deleteCheckpoint.run();
    statements.insertCheckpoint.run(last.header.position, root);
    if (isOurs) commitMarked(parts, touched, erasures > 0);
  } catch (error) {
    if (isOurs && db.inTransaction) statements.rollback.run();
    folds?.audit.forget();
    throw error;
  }
}

function commitMarked(
  { mark, statements }: ProjectorParts,
  touched: ReadonlyMap<string, TouchedDocument>,
  isErasure: boolean,
): void {
  const { commit } = statements;
  if (!mark) return void commit.run();
  const changed = Iterator.from(touched.values()).map(({ writer: { key }, id }) => ({ key, id }));
  mark(changed, isErasure, () => commit.run());
}

/** Keeps the numbers of documents: most lists ask for them, and counting takes longer than all else of a list. */
function count(updateCount: Statement, touched: ReadonlyMap<string, TouchedDocument>): void {
  const changes = new Map<string, number>();
  for (const { writer, stored, current } of touched.values()) {
    const change = Number(current !== null) - Number(stored !== null);
    if (change !== 0) changes.set(writer.key, (changes.get(writer.key) ?? 0) + change);
  }
  for (const [key, change] of changes) updateCount.run(change, key);
}

function applyOne(
  { writers, drafts, upcaster }: ProjectorParts,
  { header, data }: RecordedEvent,
  touched: Map<string, TouchedDocument>,
): void {
  const key = schemaKey(header.stream);
  const writer = writers.get(key);
  // Other streams, and streams of collections that the configuration no longer has, concern no documents.
  if (!writer || data === null) return;

  const upcast = upcaster.upcast(key, header, data);
  const entry = touched.get(header.stream) ?? load(writer, header, touched);
  const { id, current: before } = entry;
  const draftWriter = drafts.get(key);
  if (draftWriter) {
    const draft = touched.get(draftKey(header.stream)) ?? load(draftWriter, header, touched);
    const versions = { published: before, draft: draft.current };
    const after = foldLineVersions({ published: writer, draft: draftWriter }, versions, { id, header, data: upcast });
    entry.current = after.published;
    draft.current = after.draft;
    return;
  }
  const values = foldDocument(before?.document ?? null, header.type, upcast);
  const isErased = header.type === 'document.erased';
  entry.current = isErased
    ? writer.forget(id, before)
    : writer.advance(id, header, { before, document: values && writer.shape(id, values) });
}

/** Before the first event of a stream there is nothing to read. */
function load(
  writer: TableWriter,
  { stream, version }: Header,
  touched: Map<string, TouchedDocument>,
): TouchedDocument {
  const [, id] = splitStream(stream);
  const stored = version === 1 ? null : writer.load(id);
  const entry: TouchedDocument = { writer, id, stored, current: stored };
  touched.set(writer.isDraft ? draftKey(stream) : stream, entry);
  return entry;
}
