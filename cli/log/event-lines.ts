import type { Actor } from '../../events/facts/envelope.ts';
import type { EventText } from '../../events/log/event-checks.ts';
import { eventOf } from '../../events/log/log-reader.ts';
import { seesAll } from '../../server/access/sight.ts';
import type { HistoryEntry } from '../../server/audit/entries.ts';
import { shownText } from '../../server/audit/events.ts';
import { printable, row, type Terminal } from '../terminal.ts';

/** The lines of the events of a log of this size: columns with titles on a terminal, else JSON. */
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

/** An event in a sentence. */
export function whatHappened(event: Omit<HistoryEntry, 'version' | 'reason'>, reason: HistoryEntry['reason']): string {
  const { type, position, recordedAt, actor } = event;
  return `${type} at position ${position}, ${recordedAt}, by ${whoIs(actor)}${reason ? `: ${reason}` : ''}`;
}

/** The actor of an event, in words. */
export function whoIs({ type, id }: Actor): string {
  if (id === undefined) return type;
  return type === 'apiKey' ? `API key ${id}` : id;
}
