import { isObject, type JsonObject } from '../../../config/schema.ts';
import { type Header, type Payload, payloadOf } from '../../../events/facts/envelope.ts';
import { byteOrderMark, csvRow, jsonCell } from './csv.ts';
import type { ShownEvent } from './shown.ts';

/** How the events of an export are written. */
export const exportFormats = ['ndjson', 'csv', 'cloudevents'] as const;

export type ExportFormat = (typeof exportFormats)[number];

type Writer = {
  /** The name of the events file. */
  file: string;
  /** The text before the first event. */
  head: string;
  /** One event, with its line end. `proof`: if each event is proven by itself, and the format has a place for it. */
  line: (event: ShownEvent, proof: readonly string[] | null) => string;
};

/** The columns of CSV, and their cells. */
const columns: Record<string, (header: Header, payload: Payload | null) => string> = {
  position: ({ position }) => String(position),
  recordedAt: ({ recordedAt }) => recordedAt,
  stream: ({ stream }) => stream,
  version: ({ version }) => String(version),
  type: ({ type }) => type,
  actorType: ({ actor }) => actor.type,
  actorId: ({ actor }) => actor.id ?? '',
  correlationId: ({ correlationId }) => correlationId,
  reason: (_, payload) => payload?.context.reason ?? '',
  changed: (_, payload) => (payload ? namedFields(payload.data).join(' ') : ''),
  data: (_, payload) => (payload ? jsonCell(payload.data) : ''),
  id: ({ id }) => id,
  schemaVersion: ({ schemaVersion }) => String(schemaVersion),
  payload: ({ payload }) => payload,
};

/** One entry per format. docs/log-format.md describes their lines. */
export const writers: Record<ExportFormat, Writer> = {
  ndjson: { file: 'events.ndjson', head: '', line: ndjsonLine },
  csv: { file: 'events.csv', head: byteOrderMark + csvRow(Object.keys(columns)), line: csvLine },
  cloudevents: { file: 'events.cloudevents.ndjson', head: '', line: cloudEventLine },
};

/** Both texts as they are stored: the proven bytes can be cut out of the line. */
function ndjsonLine({ text, body, state }: ShownEvent, proof: readonly string[] | null): string {
  const flag = state === 'erased' || state === 'withheld' ? `,"${state}":true` : '';
  return `{"header":${text},"payload":${body}${flag}${proof ? `,"proof":${JSON.stringify(proof)}` : ''}}\n`;
}

function csvLine(event: ShownEvent): string {
  const payload = payloadOf(event.body);
  return csvRow(Object.values(columns).map((cell) => cell(event.header, payload)));
}

/** The changed fields that an event of a document or global names, without those that the server sets. */
function namedFields({ set, unset }: JsonObject): string[] {
  const names = [...(isObject(set) ? Object.keys(set) : []), ...(Array.isArray(unset) ? unset.map(String) : [])];
  return names.filter((name) => name !== 'createdAt' && name !== 'updatedAt');
}

/** The extension `sequence` wants texts that sort as the numbers do, and these are of 32 bits. */
const sequenceDigits = 10;

/** An event in the JSON format of CloudEvents 1.0; members that are not attributes of it are extensions. */
function cloudEventLine(event: ShownEvent): string {
  const { header, state } = event;
  const { data, context = {} } = payloadOf(event.body) ?? {};
  const attributes = {
    specversion: '1.0',
    id: header.id,
    source: header.log,
    type: `org.annals.${header.type}`,
    subject: header.stream,
    time: header.recordedAt,
    datacontenttype: 'application/json',
    sequence: String(header.position).padStart(sequenceDigits, '0'),
    sequencetype: 'Integer',
    version: header.version,
    schemaversion: header.schemaVersion,
    actortype: header.actor.type,
    actorid: header.actor.id,
    correlationid: header.correlationId,
    payload: header.payload,
    reason: context.reason,
    erased: state === 'erased' ? true : undefined,
    withheld: state === 'withheld' ? true : undefined,
    data,
  };
  return `${JSON.stringify(attributes)}\n`;
}
