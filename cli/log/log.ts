import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { counted } from '../../config/counted.ts';
import { show } from '../../config/suggest.ts';
import type { Actor } from '../../events/facts/envelope.ts';
import type { EventText } from '../../events/log/event-checks.ts';
import { eventOf, type LogReader, readLog, textAt } from '../../events/log/log-reader.ts';
import { BrokenLogError, openLogToRead } from '../../events/store/log-file.ts';
import { logFile } from '../../projections/tables/files.ts';
import { seesAll } from '../../server/access/sight.ts';
import { shownText } from '../../server/audit/events.ts';
import {
  type Entry,
  type EntryPage,
  type History,
  oneVersion,
  openHistory,
  type StreamState,
} from '../../server/audit/history.ts';
import { readSettings } from '../../server/settings/command.ts';
import type { Flags } from '../../server/settings/flags.ts';
import { type Settings, UsageError } from '../../server/settings/settings.ts';
import { StartError } from '../../server/writer/writer.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { readableLog } from '../data.ts';
import { cut, printable, refused, row, type Terminal, terminalOf } from '../terminal.ts';
import { requireLog } from '../writing.ts';
import { namesIn } from './events.ts';

/** `annals history`: exit 0 shown, 1 there is no such stream, 2 could not run. */
export async function showHistory(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings, flags, name } = readShown(args, environment, { json: 'boolean' });
  return reading(settings, async (log) => {
    const stream = namesIn(log).recorded(name);
    const histories = openHistory(log).as(seesAll);
    const state = histories.state(stream);
    if (!state) return missing(stream);
    const all = pages((after) => histories.entries(state, { after, limit: 1000 }));
    if (flags.json) await printJson(state, all);
    else await printHistory(state, all, terminalOf(process.stdout, environment));
    return 0;
  });
}

/** `annals diff`: exit 0 shown, 1 there is no such stream or version, 2 could not run. */
export async function showDiff(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings, flags, name } = readShown(args, environment, { from: 'string', to: 'string', json: 'boolean' });
  const [from, to] = [readCount(flags.from, '--from'), readCount(flags.to, '--to')];
  return reading(settings, async (log) => {
    const stream = namesIn(log).recorded(name);
    const histories = openHistory(log).as(seesAll);
    const state = histories.state(stream);
    if (!state) return missing(stream);
    const last = to ?? state.version;
    const first = from ?? Math.max(last - 1, 0);
    for (const version of [first, last]) {
      if (version > state.version) return refused(`there is no version ${version}, the last is ${state.version}`);
    }
    const [before = null, after = null] = await Promise.all(
      [first, last].map(async (version) => {
        return (await histories.entries(state, oneVersion(version))).entries[0];
      }),
    );
    const diff = await histories.diff(state.stream, first, last);
    if (flags.json) await print(printable(JSON.stringify({ document: state, from: before, to: after, ...diff })));
    else await printDiff(state, { before, after, diff }, terminalOf(process.stdout, environment));
    return 0;
  });
}

/** Reads the arguments of a command that shows the stream of one document. */
export function readShown<const F extends Flags>(args: readonly string[], environment: NodeJS.ProcessEnv, flags: F) {
  const given = readSettings(args, environment, { settings: ['data'], flags, words: ['COLLECTION/ID'] });
  return { settings: given.settings, flags: given.flags, name: given.words[0] ?? '' };
}

const followMilliseconds = 200;

/** `annals log tail`: exit 0 shown, 2 could not run. */
export async function tailLog(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings, flags } = readSettings(args, environment, {
    settings: ['data'],
    flags: { follow: 'boolean', n: 'string', json: 'boolean' },
  });
  const count = readCount(flags.n, '-n') ?? 10;
  return reading(settings, async (log) => {
    let { size } = log.head();
    const { titles, lineOf } = eventLines(size, flags.json ? null : terminalOf(process.stdout, environment));
    if (titles !== null) await print(titles);
    for (let at = Math.max(size - count, 0); ; ) {
      for (; at < size; at += 1) await print(lineOf(textAt(log, at + 1)));
      if (!flags.follow) return 0;
      await setTimeout(followMilliseconds);
      ({ size } = log.head());
    }
  });
}

/** The lines of the events of a log of this size, and the titles above them; without a terminal, of JSON. */
export function eventLines(size: number, terminal: Terminal | null) {
  if (!terminal) return { titles: null, lineOf: (text: EventText) => printable(shownText(text, seesAll)) };
  const inColumns = (cells: string[]) => row(cells, [String(size).length + 1, 24, 24, 45], terminal.columns);
  function lineOf(text: EventText): string {
    const { header, context } = eventOf(text);
    const { position, recordedAt, type, stream, version, actor } = header;
    const by = whoIs(actor) + (context?.reason === undefined ? '' : `: ${context.reason}`);
    return inColumns([String(position), recordedAt, type, `${stream} ${version}`, by]);
  }
  return { titles: terminal.bold(inColumns(['', 'RECORDED', 'TYPE', 'STREAM', 'BY'])), lineOf };
}

async function printHistory(state: StreamState, entries: AsyncIterable<Entry>, terminal: Terminal): Promise<void> {
  const status = state.erased ? 'erased' : state.exists ? '' : 'deleted';
  const title = `${state.stream}: ${counted(state.version, 'version')}`;
  await print(terminal.bold(cut(printable(status === '' ? title : `${title}, ${status}`), terminal.columns)));
  const widths = [
    Math.max(String(state.version).length, 7),
    Math.max(String(state.position).length, 8),
    24,
    18,
    18,
    42,
  ];
  const titles = ['VERSION', 'POSITION', 'RECORDED', 'TYPE', 'CHANGED', 'BY', 'WHY'];
  await print(terminal.dim(row(titles, widths, terminal.columns)));
  for await (const { version, position, recordedAt, type, changed = [], actor, reason, erased } of entries) {
    const what = erased ? '(erased)' : changed.join(', ');
    const cells = [String(version), String(position), recordedAt, type, what, whoIs(actor), reason ?? ''];
    await print(row(cells, widths, terminal.columns));
  }
}

async function printJson(state: StreamState, entries: AsyncIterable<Entry>): Promise<void> {
  await print(`{"document":${printable(JSON.stringify(state))},"versions":[`);
  let before = '';
  for await (const entry of entries) {
    if (before !== '') await print(`${before},`);
    before = printable(JSON.stringify(entry));
  }
  await print(`${before}]}`);
}

type Shown = {
  before: Entry | null;
  after: Entry | null;
  diff: Awaited<ReturnType<History['diff']>>;
};

async function printDiff(state: StreamState, { before, after, diff }: Shown, terminal: Terminal): Promise<void> {
  const line = (text: string) => cut(printable(text), terminal.columns);
  const versions = `version ${before?.version ?? 0} → ${after?.version ?? 0}`;
  await print(terminal.bold(line(`${state.stream}: ${versions}`)));
  if (after) await print(terminal.dim(line(whatHappened(after, after.reason))));
  if (diff.fields === null) await print('one of the two has been erased: the differences are unknown');
  else if (diff.fields.length === 0) await print('no field differs');
  for (const { field, before: old, after: now } of diff.fields ?? []) {
    await print(terminal.bold(line(field)));
    if (old !== null) await print(terminal.red(line(`  - ${JSON.stringify(old)}`)));
    if (now !== null) await print(terminal.green(line(`  + ${JSON.stringify(now)}`)));
  }
}

/** An event in a sentence. */
export function whatHappened(event: Omit<Entry, 'version' | 'reason'>, reason: Entry['reason']): string {
  const { type, position, recordedAt, actor } = event;
  return `${type} at position ${position}, ${recordedAt}, by ${whoIs(actor)}${reason ? `: ${reason}` : ''}`;
}

function whoIs({ type, id }: Actor): string {
  if (id === undefined) return type;
  return type === 'apiKey' ? `API key ${id}` : id;
}

async function* pages(read: (after: number) => Promise<EntryPage>): AsyncGenerator<Entry> {
  for (let after: number | null = 0; after !== null; ) {
    const { entries, next }: EntryPage = await read(after);
    yield* entries;
    after = next;
  }
}

/**
 * Reads the log of a data directory, also while a service runs. The reader of standard output may close it at any time.
 */
export async function reading(settings: Settings, run: (log: LogReader) => Promise<number>): Promise<number> {
  const { directory, done } = readableLog(settings);
  const unheed = onSignal(done);
  const over = new AbortController();
  let db: Sqlite | null = null;
  try {
    db = openLogToRead(logFile(directory));
    requireLog(db);
    const shown = run(readLog(db));
    // After the reader has gone, it may find the log closed.
    shown.catch(() => {});
    return await Promise.race([shown, readerGone(over.signal)]);
  } catch (error) {
    throw error instanceof BrokenLogError ? new StartError(error.message) : error;
  } finally {
    over.abort();
    db?.close();
    unheed();
    done();
  }
}

/** Has a signal clean up before it ends the process. One that the command heeds itself stays with it. */
function onSignal(cleanUp: () => void): () => void {
  const end = (signal: NodeJS.Signals) => {
    if (process.listenerCount(signal) > 1) return;
    cleanUp();
    process.off(signal, end);
    process.kill(process.pid, signal);
  };
  for (const signal of signals) process.on(signal, end);
  return () => {
    for (const signal of signals) process.off(signal, end);
  };
}

const signals = ['SIGINT', 'SIGTERM'] as const;

/** Resolves with an exit code when the reader of standard output has closed it, as `head` does. */
async function readerGone(signal: AbortSignal): Promise<number> {
  try {
    const [error] = await once(process.stdout, 'error', { signal });
    if (error.code !== 'EPIPE') throw error;
    return 0;
  } catch (error) {
    if (signal.aborted) return 0;
    throw error;
  }
}

/** Prints a line, and waits for a slow reader (backpressure). */
export async function print(line: string): Promise<void> {
  if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain');
}

/** Prints that the log has no such stream; exit code 1. */
export function missing(stream: string): number {
  return refused(`there is nothing about ${printable(show(stream))} in the log`);
}

/** Reads a flag with a whole number. @throws UsageError for any other value. */
export function readCount(text: string | undefined, flag: string): number | null {
  if (text === undefined) return null;
  const count = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(count)) return count;
  throw new UsageError(`${flag} must be a whole number, got ${printable(show(text))}`);
}
