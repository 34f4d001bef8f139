import { isDeepStrictEqual } from 'node:util';
import { isObject, type Json, type JsonObject, memberOf } from '../../../config/schema.ts';
import { type EventType, isDraftOnly, isPublication } from '../../../events/facts/catalogue.ts';
import { type Actor, type Header, payloadOf } from '../../../events/facts/envelope.ts';
import type { LogReader } from '../../../events/log/log-reader.ts';
import { eventsOf } from '../../documents/past/reading.ts';
import { escapeHtml } from '../../platform/html.ts';
import type { LogCheckpoint } from '../../ports.ts';
import { foldShown, type ShownEvent, showEvent } from './shown.ts';

type Summary = { log: LogReader; checkpoint: LogCheckpoint; stream: string };

/** A value of more characters is cut: whole it stands in bundle.json. */
const longestValue = 2000;

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#111}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin:2rem 0 .3rem;border-top:1px solid #999;padding-top:1rem}
table{border-collapse:collapse;width:100%;margin:.5rem 0}th,td{border:1px solid #bbb;padding:.3rem .5rem;text-align:left;vertical-align:top}
td{white-space:pre-wrap;overflow-wrap:anywhere}th{background:#eee;width:22%}thead th{width:auto}
.gone{color:#a00;font-weight:bold}.none{color:#666}dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}dt{color:#555}dd{margin:0;overflow-wrap:anywhere}
@media print{body{margin:0;max-width:none}tr,h2{break-inside:avoid;break-after:auto}h2{break-after:avoid}}`;

/**
 * A page for people that says who changed what, when and why: it needs nothing else, runs nothing, and prints. One
 * version is held at a time.
 */
export async function* summaryHtml({ log, checkpoint, stream }: Summary): AsyncGenerator<string> {
  yield head(log.head().log, checkpoint, stream);
  let document: JsonObject | null = null;
  const states = followPublicStates();
  for await (const chunk of eventsOf(log, stream, checkpoint.size)) {
    let html = '';
    for (const event of chunk) {
      const shown = showEvent(event, () => true);
      const after = foldShown(document, shown);
      html += section(shown, document, after);
      document = after;
      states.note(shown.header);
    }
    yield html;
  }
  yield `${states.html()}</body></html>\n`;
}

function head(origin: string, { size, root, signedAt }: LogCheckpoint, stream: string): string {
  const title = `Changes of ${stream}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title>
<style>${style}</style></head><body>
<h1>Changes of ${text(stream)}</h1>
<dl>${fact('Log', text(origin))}${fact('Up to event', String(size))}${fact('Fingerprint of the log there', `<code>${escapeHtml(root)}</code>`)}${fact('Signed', `${escapeHtml(signedAt)} (UTC)`)}</dl>
<p>Every change on record, oldest first. Times are UTC. This page is for reading; what proves it is in bundle.json, and
README.txt says how to check that.</p>
`;
}

const words: Record<string, string> = {
  'document.created': 'created',
  'document.updated': 'changed',
  'document.deleted': 'deleted',
  'document.restored': 'restored from an earlier version',
  'document.erased': 'erased: what the versions before this one said was removed for good',
  'document.draft.created': 'created as a draft, not public',
  'document.draft.updated': 'draft changed, not public',
  'document.draft.restored': 'an earlier version restored as a draft, not public',
  'document.draft.discarded': 'unpublished changes discarded',
  'document.published': 'published',
  'document.unpublished': 'unpublished: not public since',
  'global.updated': 'changed',
  'global.restored': 'restored from an earlier version',
  'global.draft.updated': 'draft changed, not public',
  'global.draft.restored': 'an earlier version restored as a draft, not public',
  'global.draft.discarded': 'unpublished changes discarded',
  'global.published': 'published',
  'review.requested': 'review requested',
  'review.withdrawn': 'request for review withdrawn',
  'review.refused': 'review refused',
} satisfies Record<Extract<EventType, `document.${string}` | `global.${string}` | `review.${string}`>, string>;

function section(event: ShownEvent, before: JsonObject | null, after: JsonObject | null): string {
  const { header, state } = event;
  const { data = {}, context = {} } = payloadOf(event.body) ?? {};
  const isDocument = words[header.type] !== undefined;
  const facts = [
    fact('When', escapeHtml(header.recordedAt)),
    fact('Who', text(actorText(header.actor))),
    ...(context.reason === undefined ? [] : [fact('Why', text(context.reason))]),
    ...(context.ip === undefined ? [] : [fact('From', text(context.ip))]),
    fact('Event', `${header.position} of the log`),
  ];
  const body =
    state === 'erased'
      ? '<p class="gone">ERASED: what this version said was removed for good. That it took place, when and by whom, is proven.</p>'
      : isDraftOnly(header.type)
        ? members(saved(data))
        : isDocument
          ? changes(before ?? {}, after ?? {})
          : members(data);
  return `<h2>Version ${header.version}: ${escapeHtml(words[header.type] ?? header.type)}</h2>\n<dl>${facts.join('')}</dl>\n${body}\n`;
}

function actorText({ type, id }: Actor): string {
  const names: Record<Header['actor']['type'], string> = {
    user: `user ${id}`,
    apiKey: `API key ${id}`,
    system: 'the service itself, or its operator',
    anonymous: 'somebody without a credential',
  };
  return names[type];
}

function changes(before: JsonObject, after: JsonObject): string {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = names.filter((name) => !isDeepStrictEqual(memberOf(before, name), memberOf(after, name)));
  if (changed.length === 0) return '<p class="none">No field differs from the version before.</p>';
  const rows = changed.map((name) => {
    const [old, now] = [memberOf(before, name), memberOf(after, name)].map(value);
    return `<tr><th>${text(name)}</th><td>${old}</td><td>${now}</td></tr>`;
  });
  return `<table><thead><tr><th>Field</th><th>Before</th><th>After</th></tr></thead><tbody>\n${rows.join('\n')}\n</tbody></table>`;
}

function members(data: JsonObject): string {
  const rows = Object.entries(data).map(([name, one]) => `<tr><th>${text(name)}</th><td>${value(one)}</td></tr>`);
  return rows.length === 0 ? '' : `<table><tbody>\n${rows.join('\n')}\n</tbody></table>`;
}

function value(one: Json | undefined): string {
  if (one === undefined || one === null || one === '') return '<span class="none">–</span>';
  const whole = typeof one === 'string' ? one : JSON.stringify(one, null, 2);
  if (whole.length <= longestValue) return text(whole);
  return `${text(whole.slice(0, longestValue))}<span class="none"> … (${whole.length} characters; whole in bundle.json)</span>`;
}

/** The values that an event of a draft holds; of a review, what it says. */
function saved(data: JsonObject): JsonObject {
  const { set, document } = data;
  return isObject(set) ? set : isObject(document) ? document : data;
}

const ends: ReadonlySet<string> = new Set(['document.unpublished', 'document.deleted', 'document.erased']);

/**
 * Notes from when until when which version was public, by the types of events, which outlive an erasure. Nothing for a
 * stream without events of drafts: there every version was public.
 */
function followPublicStates() {
  const rows: string[] = [];
  let hasDrafts = false;
  let last: Header | null = null;

  function end(until: string): void {
    if (last === null) return;
    const cells = [last.recordedAt, until, String(last.version), actorText(last.actor)];
    rows.push(`<tr>${cells.map((cell) => `<td>${text(cell)}</td>`).join('')}</tr>`);
    last = null;
  }

  return {
    note(header: Header): void {
      const { type, recordedAt } = header;
      hasDrafts ||= isDraftOnly(type) || isPublication(type) || type === 'document.unpublished';
      if (words[type] === undefined || isDraftOnly(type)) return;
      end(recordedAt);
      last = ends.has(type) ? null : header;
    },
    html(): string {
      if (!hasDrafts) return '';
      end('–');
      const heading =
        '<h2>Public states</h2>\n<p>The versions that readers saw, each until it was replaced or taken back.</p>\n';
      if (rows.length === 0) return `${heading}<p class="none">No version was ever public.</p>\n`;
      const names = '<tr><th>From</th><th>Until</th><th>Version</th><th>Made public by</th></tr>';
      return `${heading}<table><thead>${names}</thead><tbody>\n${rows.join('\n')}\n</tbody></table>\n`;
    },
  };
}

/** Isolated, so that what turns the direction of writing in a text turns nothing around it. */
function text(one: string): string {
  return `<bdi>${escapeHtml(one.toWellFormed())}</bdi>`;
}

function fact(name: string, html: string): string {
  return `<dt>${name}</dt><dd>${html}</dd>`;
}
