import { prepareLate, type Sqlite } from '../../storage/sqlite.ts';
import { encodeHeader, type Header } from '../facts/envelope.ts';
import { parseHeader } from './event-checks.ts';

/** The values of the columns of `events`, in their order. An id is 16 bytes if it is a UUID. */
type EventColumns = [
  position: number,
  id: Buffer | string,
  stream: string,
  version: number,
  v: number | null,
  type: string | null,
  schemaVersion: number | null,
  recordedAt: number | null,
  actorType: string | null,
  actorId: string | null,
  correlation: Buffer | string | null,
  batch: Buffer | null,
  payload: Buffer | null,
  whole: string | null,
];

/** A text that JSON writes unchanged, between quotation marks. */
const plain = /^[ !#-[\]-~]*$/;
const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;
const commitment = /^sha256:[\da-f]{64}$/;

export type HeaderRows = ReturnType<typeof openHeaderRows>;

/**
 * Writes headers into the table of events, as the members from which the view `headers` makes the same text.
 *
 * @param log gives the name of the log.
 */
export function openHeaderRows(db: Sqlite, log: () => string) {
  const insert = prepareLate<EventColumns, unknown>(
    db,
    'INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  return {
    /** @param text the header as {@link encodeHeader} gives it. */
    put(header: Header, text: string): void {
      insert().run(...(membersOf(header, log()) ?? wholeOf(header, text)));
    },
    /** Writes the text of a header that was made elsewhere, with the columns `row` beside it. */
    putText(row: Pick<Header, 'position' | 'id' | 'stream' | 'version'>, text: string): void {
      const header = parseHeader(text);
      const isSame = header !== null && agreesWith(header, row) && encodeHeader(header) === text;
      insert().run(...((isSame && membersOf(header, log())) || wholeOf(row, text)));
    },
  };
}

function agreesWith(header: Header, row: Pick<Header, 'position' | 'id' | 'stream' | 'version'>): boolean {
  const { position, id, stream, version } = row;
  return header.position === position && header.id === id && header.stream === stream && header.version === version;
}

/** The row of a header by its members; null for a header that the view would not give back. */
function membersOf(header: Header, log: string): EventColumns | null {
  const { position, id, stream, version, v, type, schemaVersion, actor, correlationId, payload } = header;
  // No header of version 1 belongs to a bulk call.
  const batch = v === 1 ? undefined : header.batch;
  const texts = [log, id, stream, type, actor.type, actor.id ?? '', correlationId];
  const recordedAt = Date.parse(header.recordedAt);
  const isGiven =
    header.log === log &&
    texts.every((text) => plain.test(text)) &&
    commitment.test(payload) &&
    (batch === undefined || uuid.test(batch)) &&
    recordedAt >= 0 &&
    header.recordedAt.length === 24 &&
    new Date(recordedAt).toISOString() === header.recordedAt;
  if (!isGiven) return null;
  return [
    position,
    shortened(id),
    stream,
    version,
    v,
    type,
    schemaVersion,
    recordedAt,
    actor.type,
    actor.id ?? null,
    shortened(correlationId),
    batch === undefined ? null : bytesOf(batch),
    Buffer.from(payload.slice('sha256:'.length), 'hex'),
    null,
  ];
}

function wholeOf(
  { position, id, stream, version }: Pick<Header, 'position' | 'id' | 'stream' | 'version'>,
  text: string,
): EventColumns {
  return [position, shortened(id), stream, version, null, null, null, null, null, null, null, null, null, text];
}

function shortened(id: string): Buffer | string {
  return uuid.test(id) ? bytesOf(id) : id;
}

function bytesOf(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}
