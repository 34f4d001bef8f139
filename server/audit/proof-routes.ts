import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, ResponseObject, ResponseToolkit, Server } from '@hapi/hapi';
import { counted } from '../../config/counted.ts';
import { DomainError, inQuery, invalidField } from '../../config/errors.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import { leafHash, tileWidth } from '../../events/proof/merkle.ts';
import { consistencyProof, inclusionProof, proofText } from '../../events/proof/proofs.ts';
import { BrokenLogError } from '../../events/store/log-file.ts';
import type { App } from '../app.ts';
import { noRoute } from '../http/requests.ts';
import type { LogCheckpoint, Notary } from '../ports.ts';
import { readInteger, readQuery, rejectQuery } from '../queries/parameters.ts';
import {
  checkpointOperation,
  consistencyOperation,
  consistencyParameters,
  inclusionOperation,
  inclusionParameters,
  stampsOperation,
  stampsParameters,
  tileOperation,
} from './proof-operations.ts';
import { readRoute } from './reading.ts';

const compress = promisify(gzip);

/**
 * Routes for auditors who check the log without trusting the service: signed checkpoints, the tiles of the tree, and
 * proofs made from them (C2SP tlog-checkpoint, tlog-tiles, tlog-proof).
 */
export function proofs(server: Server, app: App): void {
  server.route([
    readRoute(app, '/api/audit/checkpoint', [checkpointOperation, showCheckpoint]),
    readRoute(app, '/api/audit/stamps', [stampsOperation, listStamps]),
    readRoute(app, '/api/audit/tile/{path*}', [tileOperation, sendTile]),
    readRoute(app, '/api/audit/proofs/{position}', [inclusionOperation, proveInclusion]),
    readRoute(app, '/api/audit/consistency', [consistencyOperation, proveConsistency]),
  ]);
  const { events, notary } = app;

  async function showCheckpoint({ query }: Request, h: ResponseToolkit): Promise<ResponseObject> {
    rejectQuery(query);
    const { note } = await notary.checkpoint();
    return plain(h, note);
  }

  async function listStamps({ query }: Request, h: ResponseToolkit): Promise<ResponseObject> {
    const { covers } = readQuery(stampsParameters, query, app);
    const { size } = await newest(notary);
    const { size: end } = events.head();
    if (covers !== null && covers > end)
      throw invalidField(
        inQuery('covers', 'out_of_range', { limit: end }),
        `must not be beyond the end of the log, ${end}, got ${covers}`,
      );
    const stamped = await notary.stamped(covers ?? size + 1, size);
    return json(h, { stamped: stamped.map(({ size, note, tokens }) => ({ size, checkpoint: note, tokens })) });
  }

  async function sendTile(request: Request, h: ResponseToolkit): Promise<ResponseObject> {
    const path = String(request.params.path);
    const tile = isAsWritten(request, path) ? parseTilePath(path) : null;
    if (!tile) throw noRoute(request);
    rejectQuery(request.query);
    const { size } = await newest(notary);
    if (hasTile(tile, size)) return immutable(h, tileBytes(events, tile), tile.level === null);
    const message = `there is no such tile in the tree of the newest checkpoint, of ${counted(size, 'event')}`;
    throw new DomainError('not_found', message);
  }

  async function proveInclusion({ query, params }: Request, h: ResponseToolkit): Promise<ResponseObject> {
    const { format } = readQuery(inclusionParameters, query, app);
    const position = readInteger(params.position, 'position', { least: 1, place: 'path' });
    const checkpoint = await checkpointFor(notary, position);
    if (!checkpoint) throw new DomainError('not_found', `there is no event ${position} in the log`);
    const { size, note } = checkpoint;
    const index = position - 1;
    const [header = ''] = events.headers(index, position);
    const proof = inclusionProof(index, size, events.hashes);
    if (format !== 'json') return plain(h, proofText({ index, proof, checkpoint: note, entry: Buffer.from(header) }));
    const leaf = leafHash(header).toString('base64');
    return json(h, { position, index, size, header: JSON.parse(header), leaf, proof: texts(proof), checkpoint: note });
  }

  async function proveConsistency({ query }: Request, h: ResponseToolkit): Promise<ResponseObject> {
    const { from, to: wanted } = readQuery(consistencyParameters, query, app);
    if (wanted !== null && wanted < from)
      throw invalidField(inQuery('to', 'contradiction'), `must not be less than from, ${from}, got ${wanted}`);
    const to = wanted ?? Math.max(from, (await notary.checkpoint()).size);
    if (!(await checkpointFor(notary, to)))
      throw invalidField(
        inQuery(wanted === null ? 'from' : 'to', 'out_of_range'),
        `must not be beyond the end of the log, got ${to}`,
      );
    const proof = consistencyProof(from, to, events.hashes);
    const [fromRoot, toRoot] = texts([from, to].map((size) => events.rootAt(size)));
    return json(h, { from, to, fromRoot, toRoot, proof: texts(proof) });
  }
}

/** The newest checkpoint; without any, one is signed. */
async function newest(notary: Notary): Promise<LogCheckpoint> {
  const [found] = await notary.recent(1);
  return found ?? notary.checkpoint();
}

/** A checkpoint of a tree of at least this size; null when the log has not come so far. */
async function checkpointFor(notary: Notary, size: number): Promise<LogCheckpoint | null> {
  const found = await newest(notary);
  if (found.size >= size) return found;
  const now = await notary.checkpoint();
  return now.size >= size ? now : null;
}

/** Shared caches must not store the response: each caller needs the right to it. */
function plain(h: ResponseToolkit, text: string): ResponseObject {
  return h.response(text).type('text/plain; charset=utf-8').header('cache-control', 'private, no-cache');
}

function json(h: ResponseToolkit, value: object): ResponseObject {
  return h.response(value).header('cache-control', 'private, no-cache');
}

/** A tile never changes. Hashes do not compress, headers do: by a factor of four. */
async function immutable(h: ResponseToolkit, bytes: Buffer, isText: boolean): Promise<ResponseObject> {
  const isCompressed = isText && h.request.info.acceptEncoding === 'gzip';
  const response = h
    .response(isCompressed ? await compress(bytes) : bytes)
    .type('application/octet-stream')
    .header('cache-control', 'private, max-age=31536000, immutable');
  if (isCompressed) response.header('content-encoding', 'gzip');
  return isText ? response.vary('accept-encoding') : response;
}

/** A path that climbs, or writes a character as its code, names nothing here. */
function isAsWritten({ raw, path }: Request, tile: string): boolean {
  return raw.req.url?.split(/[?#]/, 1)[0] === path && path.endsWith(`/tile/${tile}`);
}

function texts(hashes: readonly Buffer[]): string[] {
  return hashes.map((hash) => hash.toString('base64'));
}

/**
 * A tile of the tree (C2SP tlog-tiles), or with `level` null the entries of one of level 0. `width` is below 256 for a
 * partial one.
 */
type TileName = { level: number | null; index: number; width: number };

/**
 * The tile that a path names: `<L>/<N>[.p/<W>]` or `entries/<N>[.p/<W>]`, N in groups of three digits, all but the last
 * after an `x`. There is one way to write each; null for everything else.
 */
function parseTilePath(path: string): TileName | null {
  const match = /^(entries|\d|[1-5]\d|6[0-3])\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(path);
  const [, level = '', groups = '', partial] = match ?? [];
  const width = partial === undefined ? tileWidth : Number(partial);
  // x000 at the beginning would be a second way to write an index, and a partial tile of 256 is a full one.
  if (!match || groups.startsWith('x000') || (partial !== undefined && width >= tileWidth)) return null;
  return { level: level === 'entries' ? null : Number(level), index: Number(groups.replace(/[x/]/g, '')), width };
}

/** True when a tree of `size` leaves has all of a tile. */
function hasTile({ level, index, width }: TileName, size: number): boolean {
  return index * tileWidth + width <= Math.floor(size / tileWidth ** (level ?? 0));
}

/**
 * The bytes of a tile: its hashes one after the other; of entries, each after its length in two bytes, the greater
 * first.
 */
function tileBytes(log: LogReader, { level, index, width }: TileName): Buffer {
  const start = index * tileWidth;
  if (level !== null) return Buffer.concat(log.hashes(level, start, width));
  const entries = log.headers(start, start + width);
  if (entries.length !== width) throw new BrokenLogError(`events ${start + 1} to ${start + width} are missing`);
  return Buffer.concat(
    entries.flatMap((text) => {
      const entry = Buffer.from(text);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(entry.length);
      return [length, entry];
    }),
  );
}
