import { counted } from '../../config/counted.ts';
import { seesAll } from '../../server/access/sight.ts';
import { type EntryPage, type HistoryEntry, oneVersion } from '../../server/audit/entries.ts';
import { type History, openHistory, type StreamState } from '../../server/audit/history.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { cut, printable, refused, row, type Terminal, terminalOf } from '../terminal.ts';
import { whatHappened, whoIs } from './event-lines.ts';
import { namesIn } from './events.ts';
import { missing, print, readCount, reading } from './reading.ts';

/** `annals history`: exit 0 shown, 1 there is no such stream, 2 could not run. */
export async function showHistory(
  { settings, flags, words }: CommandLine<{ json: 'boolean' }>,
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  return reading(settings, async (log) => {
    const stream = namesIn(log).recorded(words[0] ?? '');
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
export async function showDiff(
  { settings, flags, words }: CommandLine<{ from: 'string'; to: 'string'; json: 'boolean' }>,
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const [from, to] = [readCount(flags.from, '--from'), readCount(flags.to, '--to')];
  return reading(settings, async (log) => {
    const stream = namesIn(log).recorded(words[0] ?? '');
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
    const { versions: _versions, ...diff } = await histories.diff(state.stream, [first, last], state.version);
    if (flags.json) await print(printable(JSON.stringify({ document: state, from: before, to: after, ...diff })));
    else await printDiff(state, { before, after, diff }, terminalOf(process.stdout, environment));
    return 0;
  });
}

async function printHistory(
  state: StreamState,
  entries: AsyncIterable<HistoryEntry>,
  terminal: Terminal,
): Promise<void> {
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

async function printJson(state: StreamState, entries: AsyncIterable<HistoryEntry>): Promise<void> {
  await print(`{"document":${printable(JSON.stringify(state))},"docs":[`);
  let before = '';
  for await (const entry of entries) {
    if (before !== '') await print(`${before},`);
    before = printable(JSON.stringify(entry));
  }
  await print(`${before}]}`);
}

type VersionDiff = {
  before: HistoryEntry | null;
  after: HistoryEntry | null;
  diff: Omit<Awaited<ReturnType<History['diff']>>, 'versions'>;
};

async function printDiff(state: StreamState, { before, after, diff }: VersionDiff, terminal: Terminal): Promise<void> {
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

async function* pages(read: (after: number) => Promise<EntryPage>): AsyncGenerator<HistoryEntry> {
  for (let after: number | null = 0; after !== null; ) {
    const { entries, next }: EntryPage = await read(after);
    yield* entries;
    after = next;
  }
}
