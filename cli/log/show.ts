import { categoryOf, type JsonObject } from '../../config/schema.ts';
import { didYouMean } from '../../config/suggest.ts';
import { globalStream, isDraftOnly, splitStream } from '../../events/facts/catalogue.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { eventOf, type LogReader, textAt } from '../../events/log/log-reader.ts';
import { seesAll } from '../../server/access/sight.ts';
import { admissionOf } from '../../server/audit/admissions.ts';
import { type History, openHistory } from '../../server/audit/history.ts';
import { yieldToEventLoop } from '../../server/platform/yield.ts';
import { readMoment } from '../../server/queries/moments.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { cut, printable, refused, row, type Terminal, terminalOf } from '../terminal.ts';
import { whatHappened } from './event-lines.ts';
import { declaredIn, namesIn, ofFlag } from './events.ts';
import { missing, print, readCount, reading } from './reading.ts';

/** The public state of a document as of a position; null when it was not public, or was deleted or erased by then. */
type Then = { event: RecordedEvent; document: JsonObject | null };

/** `annals show`: exit 0 shown, 1 there was no such document then, 2 could not run. */
export async function showDocument(
  { settings, flags, words }: CommandLine<{ 'as-of': 'string'; json: 'boolean' }>,
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const [name = ''] = words;
  if (/^(accounts|system)(\/|$)/.test(name)) {
    throw new UsageError(`${JSON.stringify(name)} has no documents; annals history shows what happened`);
  }
  return reading(settings, async (log) => {
    const asked = flags['as-of'];
    const now = { events: log, clock: { believed: Date.now } };
    const position = asked === undefined ? log.head().size : ofFlag(() => readMoment(asked, '--as-of', now));
    const terminal = terminalOf(process.stdout, environment);
    const showing = { log, histories: openHistory(log).as(seesAll), position, json: flags.json === true, terminal };
    return name.includes('/') ? showOne(showing, namesIn(log).recorded(name)) : showAll(showing, name);
  });
}

type Showing = { log: LogReader; histories: History; position: number; json: boolean; terminal: Terminal };

async function showOne(showing: Showing, stream: string): Promise<number> {
  const { log, json, position, terminal } = showing;
  if (log.versionOf(stream) === 0) return missing(stream);
  const then = await thenOf(showing, stream);
  if (!then) return refused(`${printable(stream)} was not there yet at position ${position}`);
  const { event, document } = then;
  if (!document) {
    const { type, version, recordedAt } = event.header;
    const place = `version ${version} at position ${event.header.position}, ${recordedAt}`;
    const name = printable(stream);
    if (type === 'document.deleted') return refused(`${name} was deleted: ${place}`);
    if (type === 'document.unpublished' || isDraftOnly(type)) return refused(`${name} was not public: ${place}`);
    if (type === 'document.erased') return refused(`${name} has been erased: ${place}`);
    return refused(`what ${name} said has been erased since: ${place}`);
  }
  if (json) await print(jsonOf({ event, document }));
  else {
    const line = (text: string) => cut(printable(text), terminal.columns);
    await print(terminal.bold(line(`${stream}: version ${event.header.version}`)));
    await print(terminal.dim(line(whatHappened(event.header, event.context?.reason))));
    for (const [field, value] of Object.entries(document)) await print(line(`${field}: ${JSON.stringify(value)}`));
  }
  return 0;
}

/** The documents of a collection one after the other, however many there are: no more than one is held. */
async function showAll(showing: Showing, collection: string): Promise<number> {
  const { log, json, position, terminal } = showing;
  const { collections, globals } = declaredIn(log);
  const slugs = new Set([
    ...collections.flatMap((one) => [one.slug, categoryOf(one)]),
    ...(globals.length > 0 ? ['globals'] : []),
  ]);
  if (!slugs.has(collection)) {
    const hint = didYouMean(collection, [...slugs, ...globals.map(({ slug }) => globalStream(slug))]);
    return refused(`there is no collection ${printable(JSON.stringify(collection))} in the log${hint}`);
  }
  const widths = [36, 7, 24];
  if (!json) {
    await print(terminal.bold(cut(`${collection} as of position ${position}`, terminal.columns)));
    await print(terminal.dim(row(['ID', 'VERSION', 'RECORDED', 'DOCUMENT'], widths, terminal.columns)));
  }
  for (const stream of log.streamsUnder(`${namesIn(log).categoryFor(collection)}/`)) {
    const then = await thenOf(showing, stream);
    if (!then?.document) continue;
    const { version, recordedAt } = then.event.header;
    const [, id] = splitStream(stream);
    const { id: _id, ...fields } = then.document;
    const cells = [id, String(version), recordedAt, JSON.stringify(fields)];
    await print(json ? jsonOf(then) : row(cells, widths, terminal.columns));
    await yieldToEventLoop();
  }
  return 0;
}

/** Null when there was nothing of it yet. */
async function thenOf({ log, histories, position }: Showing, stream: string): Promise<Then | null> {
  const last = log.lastOf(stream, position);
  if (!last) return null;
  const event = eventOf(textAt(log, last.position));
  const { published } = await histories.documentAt(event, position);
  return { event, document: published };
}

function jsonOf({ event: { header }, document }: Then): string {
  const { stream, version, position } = header;
  return printable(JSON.stringify({ stream, version, position, document }));
}

/** `annals access`: exit 0 shown, 1 there is no such stream or version, 2 could not run. */
export async function showAccess(
  { settings, flags, words }: CommandLine<{ version: 'string'; json: 'boolean' }>,
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const asked = readCount(flags.version, '--version');
  return reading(settings, async (log) => {
    const stream = namesIn(log).recorded(words[0] ?? '');
    const histories = openHistory(log);
    const last = log.versionOf(stream);
    if (last === 0) return missing(stream);
    const version = asked ?? last;
    if (version < 1 || version > last) return refused(`there is no version ${version}, the last is ${last}`);
    const event = histories.as(seesAll).event(stream, version);
    const admission = await admissionOf({ log, histories, sightOf: async () => seesAll }, event);
    if (flags.json) await print(printable(JSON.stringify(admission)));
    else await printAccess(event, admission, terminalOf(process.stdout, environment));
    return 0;
  });
}

type Admission = Awaited<ReturnType<typeof admissionOf>>;

async function printAccess(event: RecordedEvent, { rule, user, erased }: Admission, terminal: Terminal): Promise<void> {
  const { stream, version } = event.header;
  const line = (text: string) => cut(printable(text), terminal.columns);
  await print(terminal.bold(line(`${stream}: version ${version}`)));
  await print(terminal.dim(line(whatHappened(event.header, event.context?.reason))));
  await print(line(`rule: ${erased ? '(erased)' : (rule?.name ?? 'none is named')}`));
  if (rule?.description) await print(line(`  ${rule.description}`));
  if (rule?.sha256) await print(line(`  SHA-256 ${rule.sha256}, as recorded at position ${rule.schema}`));
  if (!user) return;
  await print(line(`user: ${user.stream}, version ${user.version} at position ${user.position}`));
  const fields = user.erased ? 'erased' : JSON.stringify(user.document);
  await print(line(`  ${fields}`));
}
