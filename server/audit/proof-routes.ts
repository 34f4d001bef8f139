import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, ResponseObject, ResponseToolkit, Server } from '@hapi/hapi';
import { counted } from '../../config/counted.ts';
import { DomainError, invalidField } from '../../config/errors.ts';
import { leafHash } from '../../events/merkle.ts';
import { consistencyProof, inclusionProof, proofText } from '../../events/proofs.ts';
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
import { hasTile, parseTilePath, tileBytes } from './tiles.ts';

const compress = promisify(gzip);

/**
 * Routes for auditors who check the log without trusting the service: signed checkpoints, the tiles of the tree, and proofs
 * made from them (C2SP tlog-checkpoint, tlog-tiles, tlog-proof).
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
      throw invalidField('covers', `must not be beyond the end of the log, ${end}, got ${covers}`);
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
    throw new DomainError('not-found', message);
  }

  async function proveInclusion({ query, params }: Request, h: ResponseToolkit): Promise<ResponseObject> {
    const { format } = readQuery(inclusionParameters, query, app);
    const position = readInteger(params.position, 'position', 1);
    const checkpoint = await checkpointFor(notary, position);
    if (!checkpoint) throw new DomainError('not-found', `there is no event ${position} in the log`);
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
      throw invalidField('to', `must not be less than from, ${from}, got ${wanted}`);
    const to = wanted ?? Math.max(from, (await notary.checkpoint()).size);
    if (!(await checkpointFor(notary, to)))
      throw invalidField(wanted === null ? 'from' : 'to', `must not be beyond the end of the log, got ${to}`);
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
