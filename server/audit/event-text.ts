import { headerOf, payloadOf } from '../../events/envelope.ts';
import type { EventText } from '../../events/event-checks.ts';
import { type LogReader, textAt } from '../../events/log-reader.ts';
import type { AuditRights } from '../access/rights.ts';

/** An event as routes send it, with what tells it from others. */
export type EventJson = { position: number; type: string; text: string };

/** How much of payloads one answer reads, so that it keeps a thread for some milliseconds only. */
const mostBytes = 1024 * 1024;

/**
 * Events at positions as JSON texts, `{ header, data, context }`: fewer than were asked for where they are large, but one at least.
 * Payloads that the caller may not see are not read: `data` and `context` are null then, beside `withheld`, as they are beside `erased`
 * where there is nothing left to be seen.
 */
export function eventTexts(log: LogReader, rights: AuditRights, positions: readonly number[]): EventJson[] {
  const events: EventJson[] = [];
  let bytes = 0;
  for (const position of positions) {
    const [headerText = ''] = log.headers(position - 1, position);
    const header = headerOf(headerText);
    const text = rights.seesPayloadsOf(header.stream)
      ? shownText(textAt(log, position))
      : `{"header":${headerText},"data":null,"context":null,"withheld":true}`;
    bytes += text.length;
    if (events.length > 0 && bytes > mostBytes) break;
    events.push({ position, type: header.type, text });
  }
  return events;
}

/** An event whose payload may be seen. Its header goes out as it is stored. */
export function shownText({ header, body }: EventText): string {
  if (body === null) return `{"header":${header},"data":null,"context":null,"erased":true}`;
  const { data, context } = payloadOf(body);
  return `{"header":${header},"data":${JSON.stringify(data)},"context":${JSON.stringify(context)}}`;
}
