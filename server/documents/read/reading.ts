import { DomainError, invalidFields } from '../../../config/errors.ts';
import type { Category } from '../../../config/schema.ts';
import type { Documents } from '../../../projections/query/documents.ts';
import { TooManyCombinationsError } from '../../../projections/query/groups.ts';
import type { Page } from '../../../projections/query/lists.ts';
import { setInterruption } from '../../../projections/tables/interruption.ts';
import type { Call, RouteCall } from '../../app.ts';
import { callerOf } from '../../http/caller.ts';
import { asOfFor } from '../../http/requests.ts';
import { yieldToEventLoop } from '../../platform/yield.ts';
import { keyOf, type TableState } from '../../reads/kept.ts';
import { CrowdedError, GoneError, LateError, type LongRead } from '../../reads/long-read-queue.ts';
import { type CallerQuery, missingIn, missingIndex, type Slow } from '../../reads/missing-index.ts';
import { nameOfMissing } from '../../reads/missing-list.ts';
import {
  type DocumentReader,
  type Kind,
  needsSearchFile,
  perform,
  performInterruptibly,
  type Read,
  type ReadAnswer,
  type SomeRead,
  whereOf,
} from '../../reads/reads.ts';
import { combinesLists, isDeep, isServed, isWorthKeeping, keysRead, mayBeLong } from '../../reads/weight.ts';

const retrySeconds = 2;
/** A read of the long-read thread that took longer tells which index was missing. */
const slowMilliseconds = 10;
/** How long a read that should be short may keep this thread: then the long-read thread does it. */
const briefMilliseconds = 25;
/** How long a read of the site as it would be may keep this thread. */
const aheadMilliseconds = 250;
/** How much text a ranked read may look through in this thread. */
const mostRankedCharacters = 400_000;

/**
 * Reads many documents of a collection, today or at the position that the request looks back to. A read that may take
 * long, or does, is queued for the long-read thread. It ends when its time is over or its client has gone.
 *
 * @param written what the caller has written, of which a refusal may tell.
 * @throws DomainError `unavailable` if the read took too long, or too many wait; `validation_failed` naming the missing
 * index; TooManyCombinationsError.
 */
export async function readMany<K extends Kind>(
  call: Call,
  read: SomeRead<K>,
  written: CallerQuery = {},
): Promise<ReadAnswer<K>> {
  const { target, request } = call;
  const position = asOfFor(request)?.position ?? null;
  advise(call, read);
  if (request.app.ahead?.isApart) return readAhead(call, read, written);
  if (position === null && isServed(read, target.tables)) return perform<K>(read, target.documents);
  return readUnserved(call, { read, position, written });
}

/** As {@link readMany}, at another position than the request looks back to. */
export async function readManyAt<K extends Kind>(call: Call, reading: Reading<K>): Promise<ReadAnswer<K>> {
  const { target } = call;
  const { read, position } = reading;
  advise(call, read);
  if (position === null && isServed(read, target.tables)) return perform<K>(read, target.documents);
  return readUnserved(call, reading);
}

/** A read, its position (null: today), and what the caller has written, of which a refusal may tell. */
type Reading<K extends Kind> = { read: SomeRead<K>; position: number | null; written: CallerQuery };

/** Reads what no index serves: here if that is short, else in the long-read thread. */
async function readUnserved<K extends Kind>(call: Call, reading: Reading<K>): Promise<ReadAnswer<K>> {
  const { app, target } = call;
  const { read, position } = reading;
  const isLong = mayBeLong(read, {
    tables: target.tables,
    sizeOf: (key) => app.byCategory.get(key as Category)?.documents.size() ?? 1,
    events: position === null ? null : Math.max(app.appliedPosition() - position, 0),
  });
  if (isLong || isWorthKeeping(read)) return readOnce(call, { ...reading, isLong });
  return (await readBriefly(call, read, position)) ?? readOnce(call, { ...reading, isLong: true });
}

/** Gives the kept answer, or reads and keeps the answer. */
async function readOnce<K extends Kind>(
  call: Call,
  { isLong, ...reading }: Reading<K> & { isLong: boolean },
): Promise<ReadAnswer<K>> {
  const { app, target } = call;
  const { read, position } = reading;
  const { kept } = app.longReads.queue;
  const search = needsSearchFile(whereOf(read)) ? app.search.attachable() : null;
  const long: LongRead<K> = { file: app.readFile, tables: target.tables, search, position, read };
  const key = keyOf(long);
  const lastWrite = lastWriteOf(call, read);
  const known = () => kept.get<ReadAnswer<K>>(key, app.readState(), lastWrite);
  const indexed = search === null ? Number.POSITIVE_INFINITY : app.search.reached();
  // The answer may lack a write that came after the read began, or one that the index had not reached.
  const keep = (state: TableState, answer: ReadAnswer<K>) => {
    if (lastWrite() <= Math.min(indexed, state.position)) kept.set(key, state, answer);
  };
  const before = app.readState();
  const answer = known() ?? (isLong ? undefined : await readBriefly(call, read, position));
  if (answer === undefined) return readInThread(call, long, { keep, known, written: reading.written });
  if (app.readState().erasures === before.erasures) keep(before, answer);
  return answer;
}

/** Gives the position of the newest event about the documents that a read depends on. */
function lastWriteOf({ app, target }: Call, read: Read): () => number {
  const keys = keysRead(read, target.tables);
  return () =>
    Math.max(
      ...[...keys].map((key) => {
        const documents = key === target.tables.key ? target.documents : app.byCategory.get(key as Category)?.documents;
        return documents?.lastWrite() ?? Number.POSITIVE_INFINITY;
      }),
    );
}

/** Reads in this thread; undefined if that takes too long. */
async function readBriefly<K extends Kind>(
  { app: { past }, target }: Call,
  read: SomeRead<K>,
  position: number | null,
): Promise<ReadAnswer<K> | undefined> {
  const { tables, interruptible } = target;
  if (position !== null) {
    return perform<K>(read, {
      list: (request) => past.list(position, tables, request),
      count: (where) => past.count(position, tables, where),
      groups: (request) => past.groups(position, tables, request),
    });
  }
  return readWithin(interruptible(), read, briefMilliseconds);
}

/** Reads in this thread; undefined if one query takes longer than these milliseconds. */
async function readWithin<K extends Kind>(
  documents: Documents,
  read: SomeRead<K>,
  most: number,
): Promise<ReadAnswer<K> | undefined> {
  const reader: DocumentReader = {
    list: (request) => briefly(() => notTooMuch(documents.list(request), read.kind), most),
    found: (request) => briefly(() => notTooMuch(documents.found(request), read.kind), most),
    count: (where) => briefly(() => documents.count(where), most),
    groups: (request) => briefly(() => documents.groups(request), most),
  };
  try {
    return await performInterruptibly<K>(read, reader);
  } catch (error) {
    if (error instanceof NotBriefError) return undefined;
    throw error;
  }
}

/** Reads the site as it would be: in this thread, for only its connection has the tables. */
async function readAhead<K extends Kind>(call: Call, read: SomeRead<K>, written: CallerQuery): Promise<ReadAnswer<K>> {
  const { target } = call;
  const answer = await readWithin(target.interruptible(), read, aheadMilliseconds);
  if (answer !== undefined) return answer;
  const missing = missingIndex(written, target.tables, false);
  throw missing ? invalidFields([missing]) : tookTooLong();
}

/** Refuses to rank too much text here: ranking reads texts word by word. */
function notTooMuch(page: Page, kind: Kind): Page {
  const characters = kind === 'list' ? 0 : page.texts.reduce((sum, { length }) => sum + length, 0);
  if (characters > mostRankedCharacters) throw new NotBriefError();
  return page;
}

/** Thrown in a read that takes longer than this thread has time for. */
class NotBriefError extends Error {}

function briefly<T>(run: () => T, most: number): T {
  const end = performance.now() + most;
  setInterruption(() => {
    if (performance.now() > end) throw new NotBriefError();
  });
  try {
    return run();
  } finally {
    setInterruption(null);
  }
}

type ThreadRead<K extends Kind> = {
  keep: (state: TableState, answer: ReadAnswer<K>) => void;
  known: () => ReadAnswer<K> | undefined;
  written: CallerQuery;
};

async function readInThread<K extends Kind>(
  call: Call,
  long: LongRead<K>,
  { keep, known, written }: ThreadRead<K>,
): Promise<ReadAnswer<K>> {
  const { app } = call;
  const { queue, seconds, note } = app.longReads;
  const read: Read = long.read;
  const { signal, forget } = goneOf(call);
  try {
    const { answer, state, worked } = await queue.read(long, {
      caller: `${app.site ?? ''} ${callerOf(call.request)}`,
      signal,
      milliseconds: seconds * 1000,
      known,
    });
    if (state) keep(state, answer);
    note('answered');
    if (worked >= slowMilliseconds) tellMissing(call, { read, total: totalIn(answer) }, worked);
    return answer;
  } catch (error) {
    throw refusalOf(error, call, { read, written });
  } finally {
    forget();
  }
}

/** Notes advice against pages far from the beginning, for the log line of the request. */
export function advise({ request }: RouteCall, read: Read): void {
  if (read.kind !== 'list' || !isDeep(read.request)) return;
  request.app.advice =
    'all documents before this page were passed over: with after, a page begins where the last one ended';
}

/**
 * Tells the operator which indexes a slow read was missing: in the log line of the request, and in the list of missing
 * indexes.
 */
function tellMissing({ app, request, target }: Call, slow: Slow, milliseconds: number): void {
  const missing = missingIn(slow, target.tables, app.search.servesWords(target.tables));
  if (missing.length === 0) return;
  const told = request.app.missingIndexes ?? [];
  request.app.missingIndexes = [...new Set([...told, ...missing.map(nameOfMissing)])];
  // The main thread has the list, and may be about to end.
  for (const one of missing) app.missingIndexes.note({ ...one, milliseconds }).catch(() => {});
}

function totalIn(answer: ReadAnswer<Kind>): number {
  return typeof answer === 'number' ? answer : answer.total;
}

function refusalOf(error: unknown, call: Call, { read, written }: { read: Read; written: CallerQuery }): unknown {
  const { app, target } = call;
  const { note, seconds } = app.longReads;
  if (error instanceof GoneError) {
    note('dropped');
    return unavailable('the client has gone');
  }
  if (error instanceof CrowdedError) {
    note('refused');
    return unavailable('too many reads that take long wait already: try again later');
  }
  if (!(error instanceof LateError)) return error;
  note('late');
  if (!error.hasBegun) return unavailable('other reads that take long came before this one: try again later');
  tellMissing(call, { read, total: null }, seconds * 1000);
  if (read.kind === 'groups' && combinesLists(read.request)) return new TooManyCombinationsError();
  const missing = missingIndex(written, target.tables, app.search.servesWords(target.tables));
  return missing ? invalidFields([missing]) : tookTooLong();
}

function tookTooLong(): DomainError {
  return unavailable('this read took too long: ask for less of it, or try again later');
}

function unavailable(message: string): DomainError {
  return new DomainError('unavailable', message, [], retrySeconds);
}

/** A signal that is aborted when the client of a request has gone; `forget` stops listening. */
function goneOf({ request }: Call): { signal: AbortSignal; forget: () => void } {
  const { res } = request.raw;
  const controller = new AbortController();
  const leave = () => controller.abort();
  if (res.closed || res.destroyed) leave();
  res.once('close', leave);
  return { signal: controller.signal, forget: () => res.removeListener('close', leave) };
}

const sliceMilliseconds = 10;

/**
 * Paces a loop over many documents. Awaited after each document, it lets other requests go on, and ends the loop when
 * it has worked for too long, or the client has gone.
 *
 * @throws DomainError `unavailable`.
 */
export function paceOf({ app: { longReads }, request }: RouteCall): () => Promise<void> | undefined {
  const { res } = request.raw;
  let began = performance.now();
  let worked = 0;
  async function pause(): Promise<void> {
    await yieldToEventLoop();
    began = performance.now();
  }
  return () => {
    const slice = performance.now() - began;
    if (slice < sliceMilliseconds) return undefined;
    worked += slice;
    if (res.closed) {
      longReads.note('dropped');
      throw unavailable('the client has gone');
    }
    if (worked > longReads.seconds * 1000) {
      longReads.note('late');
      throw tookTooLong();
    }
    return pause();
  };
}
