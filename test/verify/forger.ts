import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';
import type { Json, JsonObject } from '../../config/schema.ts';
import type { EventType } from '../../events/facts/catalogue.ts';
import { commitmentOf, encodeHeader, type Header } from '../../events/facts/envelope.ts';
import { openHeaderRows } from '../../events/log/header-rows.ts';
import { createLog } from '../../events/store/log-file.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { seals } from '../events/logs.ts';

/** An event as a log holds it; `body` null once its payload is gone. */
export type Entry = { header: Header; text: string; body: string | null };

/** A key that signs checkpoints, and the text of its other half. */
export type Signer = { name: string; privateKey: KeyObject; verifierKey: string };

// biome-ignore lint/suspicious/noExplicitAny: lies change what they like
export type Thing = any;

export const origin = 'annals/019a0000-0000-7000-8000-000000000001';

export function createSigner(name = origin): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const bytes = Buffer.concat([Buffer.of(1), publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)]);
  const id = sha256(`${name}\n`, bytes).subarray(0, 4);
  return { name, privateKey, verifierKey: `${name}+${id.toString('hex')}+${bytes.toString('base64')}` };
}

/** A checkpoint (C2SP tlog-checkpoint) of the first `size` entries. */
export function noteOf(entries: readonly Entry[], signers: readonly Signer[], size = entries.length, name = origin) {
  const root = rootOf(entries.slice(0, size).map(leafOf));
  return signNote(`${name}\n${size}\n${root.toString('base64')}\n`, signers);
}

/** A hand-over of a log to another key, as any holder of the signing keys can write it. */
export function handoverOf(
  entries: readonly Entry[],
  [from, to]: [Signer, Signer],
  { size = 3, signers = [from, to], names = [from, to] } = {},
): string {
  const [text = ''] = noteOf(entries, [], size).split('\n\n');
  const keys = names.map(({ verifierKey }) => verifierKey).join(' ');
  return signNote(`${text.trimEnd()}\ntime 2026-11-21T00:00:00.000Z\nhandover ${keys}\n`, signers);
}

export function signNote(text: string, signers: readonly Signer[]): string {
  const lines = signers.map(({ name, privateKey, verifierKey }) => {
    const id = Buffer.from(verifierKey.split('+')[1] ?? '', 'hex');
    return `— ${name} ${Buffer.concat([id, sign(null, Buffer.from(text), privateKey)]).toString('base64')}\n`;
  });
  return `${text}\n${lines.join('')}`;
}

/**
 * Records events as the service does; what it records can be changed afterwards. @param entries those that are there.
 */
export function createHistory(log = origin, entries: Entry[] = []) {
  const versions = new Map(entries.map(({ header: { stream, version } }) => [stream, version]));

  function record(
    stream: string,
    type: EventType,
    data: JsonObject,
    changes: Partial<Header> = {},
    context?: JsonObject,
  ): Entry {
    const position = entries.length + 1;
    const version = (versions.get(stream) ?? 0) + 1;
    versions.set(stream, version);
    const body = bodyOf(data, context);
    const header: Header = {
      ...{ v: 1, log, position, stream, version, type, schemaVersion: 1 },
      id: `019a0000-0000-7000-8000-${String(position).padStart(12, '0')}`,
      recordedAt: new Date(Date.parse('2026-11-20T12:00:00.000Z') + position * 1000).toISOString(),
      actor: type === 'schema.changed' ? { type: 'system' } : { type: 'user', id: 'users/1' },
      correlationId: `request-${position}`,
      payload: commitmentOf(body),
      ...changes,
    };
    const entry = { header, text: encodeHeader(header), body };
    entries.push(entry);
    return entry;
  }

  return { entries, record };
}

export function bodyOf(data: Json, context: JsonObject = { ip: '127.0.0.1' }): string {
  return JSON.stringify({ salt: randomBytes(32).toString('base64'), data, context });
}

/** An entry with another header or payload, as an attacker would write it who can write the log. */
export function rewritten({ header, body }: Entry, changes: Partial<Header>, data?: JsonObject): Entry {
  const newBody = data === undefined ? body : bodyOf(data);
  const payload = data === undefined ? header.payload : commitmentOf(newBody as string);
  const newHeader = { ...header, payload, ...changes };
  return { header: newHeader, text: encodeHeader(newHeader), body: newBody };
}

export function shown({ header, text, body }: Entry, entries: readonly Entry[], size = entries.length): Thing {
  const hashes = entries.slice(0, size).map(leafOf);
  return { header: text, payload: body, proof: encoded(inclusionOf(header.position - 1, hashes)) };
}

export type BundleOptions = {
  size?: number;
  earlier?: number[];
  isComplete?: boolean;
  also?: string[];
  files?: Thing[];
};

/**
 * `bundle.json` of one document, as docs/verifying.md describes it; `document` is given, for the fold is the
 * verifier's.
 */
export function bundleOf(
  entries: readonly Entry[],
  signer: Signer,
  stream: string,
  document: Json | undefined,
  { size = entries.length, earlier = [], isComplete = false, also = [], files = [] }: BundleOptions = {},
): Thing {
  const held = entries.slice(0, size);
  const hashes = held.map(leafOf);
  const streams = [stream, ...also];
  const events = held.filter(({ header }) => streams.includes(header.stream));
  const declares = ({ header, body }: Entry) =>
    header.type === 'document.erased' &&
    !streams.includes(header.stream) &&
    streams.some((name) => body?.includes(name));
  const after = Math.min(
    ...streams.map((name) => events.findLast(({ header }) => header.stream === name)?.header.position ?? 0),
  );
  return {
    format: 'annals-bundle/1',
    origin,
    verifierKey: signer.verifierKey,
    checkpoint: noteOf(held, [signer]),
    stream,
    streams,
    events: events.map((entry) => shown(entry, held)),
    schemas: held.filter(({ header }) => header.stream === 'system/schema').map((entry) => shown(entry, held)),
    erasures: held.filter(declares).map((entry) => shown(entry, held)),
    ...(document === undefined ? {} : { document }),
    versions: Object.fromEntries(
      streams.map((name) => [name, events.filter(({ header }) => header.stream === name).length]),
    ),
    files,
    earlier: earlier.map((first) => ({ size: first, proof: encoded(consistencyOf(first, hashes)) })),
    ...(isComplete
      ? {
          rest: {
            after,
            before: encoded(subtreesOf(hashes.slice(0, after))),
            headers: held.slice(after).map(({ text }) => text),
          },
        }
      : {}),
  };
}

export type ExportOptions = {
  size?: number;
  kind?: string;
  filters?: Record<string, string>;
  withPayloads?: boolean;
  earlier?: number[];
};

/** The two files of an export: its manifest, and its events as one text. */
export function exportOf(
  entries: readonly Entry[],
  signer: Signer,
  from: number,
  to: number,
  { size = entries.length, kind = 'ndjson', filters = {}, withPayloads = true, earlier = [] }: ExportOptions = {},
): { manifest: Thing; text: string } {
  const held = entries.slice(0, size);
  const hashes = held.map(leafOf);
  const isWhole = Object.keys(filters).length === 0;
  const fits = ({ header: { stream, type } }: Entry) => {
    if (filters.type !== undefined && !filters.type.split(',').includes(type)) return false;
    const wanted = filters.collection ?? filters.stream ?? stream;
    return stream === wanted || stream.startsWith(`${wanted}/`);
  };
  const events = held.slice(from - 1, to).filter(fits);
  const lines: Record<string, (entry: Entry) => string> = {
    ndjson: (entry) =>
      lineOf(entry, withPayloads, isWhole ? null : encoded(inclusionOf(entry.header.position - 1, hashes))),
    csv: csvRow,
    cloudevents: cloudEvent,
  };
  const names =
    'position,recordedAt,stream,version,type,actorType,actorId,correlationId,reason,changed,data,id,schemaVersion,payload';
  const text = (kind === 'csv' ? `\ufeff${names}\r\n` : '') + events.map((entry) => lines[kind]?.(entry)).join('');
  const file = kind === 'csv' ? 'events.csv' : kind === 'ndjson' ? 'events.ndjson' : 'events.cloudevents.ndjson';
  const manifest = {
    ...{ format: 'annals-export/1', origin, verifierKey: signer.verifierKey, checkpoint: noteOf(held, [signer]) },
    ...{
      file,
      kind,
      from,
      to,
      events: events.length,
      bytes: Buffer.byteLength(text),
      sha256: hexOf(text),
      filters,
      withPayloads,
    },
    ...(isWhole
      ? { before: encoded(subtreesOf(hashes.slice(0, from - 1))), consistency: encoded(consistencyOf(to, hashes)) }
      : {}),
    erasures: held
      .filter((entry) => entry.header.type === 'document.erased' && !events.includes(entry))
      .map((entry) => shown(entry, held)),
    earlier: earlier.map((first) => ({ size: first, proof: encoded(consistencyOf(first, hashes)) })),
  };
  return { manifest, text };
}

function lineOf({ text, body }: Entry, withPayloads: boolean, proof: string[] | null): string {
  const flag = withPayloads && body === null ? ',"erased":true' : '';
  return `{"header":${text},"payload":${withPayloads ? body : null}${flag}${proof ? `,"proof":${JSON.stringify(proof)}` : ''}}\n`;
}

function csvRow({ header: h, body }: Entry): string {
  const data = `"${(body ?? '').replaceAll('"', '""')}"`;
  const reason = '"two\nlines, and ""quotes"""';
  return `${h.position},${h.recordedAt},${h.stream},${h.version},${h.type},${h.actor.type},${h.actor.id ?? ''},${h.correlationId},${reason},,${data},${h.id},${h.schemaVersion},${h.payload}\r\n`;
}

function cloudEvent({ header: h }: Entry): string {
  const { id, stream: subject, version, payload } = h;
  return `${JSON.stringify({
    ...{ specversion: '1.0', id, source: h.log, type: `org.annals.${h.type}`, subject, time: h.recordedAt },
    ...{
      datacontenttype: 'application/json',
      sequence: String(h.position).padStart(10, '0'),
      sequencetype: 'Integer',
      version,
    },
    ...{ schemaversion: h.schemaVersion, actortype: h.actor.type, ...(h.actor.id ? { actorid: h.actor.id } : {}) },
    ...{ correlationid: h.correlationId, payload },
  })}\n`;
}

/** Writes a `log.db`: whatever the entries are, its tables fit together, for nothing in the file holds a liar back. */
export function writeLog(path: string, entries: readonly Entry[], notes: readonly string[] = []): void {
  const db = openDatabase(path, { durability: 'full' });
  createLog(db, origin, seals.key);
  const guards = [
    'events_update',
    'events_delete',
    'events_insert',
    'payloads_update',
    'payloads_delete',
    'payloads_insert',
  ];
  db.exec(`${guards.map((name) => `DROP TRIGGER ${name};`).join('')} DROP INDEX events_stream; DROP INDEX events_id`);
  const { putText } = openHeaderRows(db, () => origin);
  const payload = db.prepare('INSERT INTO payloads VALUES (?, 0, ?)');
  const erasure = db.prepare("INSERT INTO erasures VALUES (?, '[]', 1)");
  const note = db.prepare("INSERT INTO checkpoints VALUES (?, ?, '2026-11-20T12:00:00.000Z', 0, 0)");
  db.transaction(() => {
    for (const [index, { header, text, body }] of entries.entries()) {
      putText({ ...header, position: index + 1 }, text);
      if (body !== null) payload.run(index + 1, body);
      if (header.type === 'document.erased') erasure.run(index + 1);
    }
    for (const text of notes) note.run(Number(text.split('\n')[1]), text);
    const last = entries.at(-1)?.header.recordedAt ?? '';
    db.prepare('UPDATE head SET size = ?, root = ?, recorded_at = ?').run(
      entries.length,
      rootOf(entries.map(leafOf)),
      last,
    );
  })();
  db.pragma('journal_mode = DELETE');
  db.close();
}

/** @param isLarge written as archives of more than 4 GB are. */
export async function zipOf(
  files: Record<string, string | Buffer> | [string, string | Buffer][],
  isLarge = false,
): Promise<Buffer> {
  const zip = new ZipFile();
  const entries = Array.isArray(files) ? files : Object.entries(files);
  const options = { mtime: new Date('2026-11-20T12:00:00Z'), forceZip64Format: isLarge };
  for (const [name, content] of entries) {
    // Written as a stream, so that the sizes come after the data, and not compressed, as files are.
    if (name.startsWith('files/'))
      zip.addReadStream(Readable.from([Buffer.from(content)]), name, { ...options, compress: false });
    else zip.addBuffer(Buffer.from(content), name, options);
  }
  zip.end({ forceZip64Format: isLarge, comment: '' });
  return buffer(zip.outputStream);
}

export function writeNote(path: string, note: string): string {
  writeFileSync(path, note);
  return path;
}

export function leafOf({ text }: Entry): Buffer {
  return sha256('\0', text);
}

export function hexOf(content: string | Buffer): string {
  return sha256(content).toString('hex');
}

function sha256(...parts: (string | Buffer)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** The tree and its proofs as RFC 6962, section 2.1, defines them, word by word: slow, and like no other code here. */
export function rootOf(leaves: readonly Buffer[]): Buffer {
  if (leaves.length <= 1) return leaves[0] ?? sha256('');
  const k = splitOf(leaves.length);
  return sha256('\x01', rootOf(leaves.slice(0, k)), rootOf(leaves.slice(k)));
}

export function inclusionOf(index: number, leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length <= 1) return [];
  const k = splitOf(leaves.length);
  if (index < k) return [...inclusionOf(index, leaves.slice(0, k)), rootOf(leaves.slice(k))];
  return [...inclusionOf(index - k, leaves.slice(k)), rootOf(leaves.slice(0, k))];
}

export function consistencyOf(size: number, leaves: readonly Buffer[]): Buffer[] {
  return size === 0 ? [] : subproof(size, leaves, true);
}

function subproof(size: number, leaves: readonly Buffer[], isKnown: boolean): Buffer[] {
  if (size === leaves.length) return isKnown ? [] : [rootOf(leaves)];
  const k = splitOf(leaves.length);
  if (size <= k) return [...subproof(size, leaves.slice(0, k), isKnown), rootOf(leaves.slice(k))];
  return [...subproof(size - k, leaves.slice(k), false), rootOf(leaves.slice(0, k))];
}

function subtreesOf(leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length === 0) return [];
  const width = 2 ** Math.floor(Math.log2(leaves.length));
  return [rootOf(leaves.slice(0, width)), ...subtreesOf(leaves.slice(width))];
}

function splitOf(size: number): number {
  return 2 ** Math.ceil(Math.log2(size) - 1);
}

export function encoded(hashes: readonly Buffer[]): string[] {
  return hashes.map((hash) => hash.toString('base64'));
}

/** An answer of `GET /api/audit/consistency`. */
export function answerOf(entries: readonly Entry[], from: number, to: number): Thing {
  const hashes = entries.slice(0, to).map(leafOf);
  const [fromRoot, toRoot] = encoded([rootOf(hashes.slice(0, from)), rootOf(hashes)]);
  return { from, to, fromRoot, toRoot, proof: encoded(consistencyOf(from, hashes)) };
}
