import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, ResponseObject, ResponseToolkit, Server } from '@hapi/hapi';
import { counted } from '../../config/counted.ts';
import { DomainError, invalidField } from '../../config/errors.ts';
import { leafHash } from '../../events/merkle.ts';
import { consistencyProof, inclusionProof, proofText } from '../../events/proofs.ts';
import { requireAudit } from '../access/rights.ts';
import type { App } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { noRoute } from '../http/requests.ts';
import type { LogCheckpoint } from '../ports.ts';
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
import { hasTile, parseTilePath, tileBytes } from './tiles.ts';

const compress = promisify(gzip);

/**
 * Routes for auditors who check the log without trusting the service: signed checkpoints, the tiles of the tree, and proofs
 * made from them (C2SP tlog-checkpoint, tlog-tiles, tlog-proof).
 */
export function proofs(server: Server, app: App): void {
  const { events, notary } = app;

  /** The newest checkpoint; without any, one is signed. */
  async function newest(): Promise<LogCheckpoint> {
    const [found] = await notary.recent(1);
    return found ?? (await notary.checkpoint());
  }

  /** A checkpoint of a tree of at least this size; null when the log has not come so far. */
  async function checkpointFor(size: number): Promise<LogCheckpoint | null> {
    const found = await newest();
    if (found.size >= size) return found;
    const now = await notary.checkpoint();
    return now.size >= size ? now : null;
  }

  server.route([
    {
      method: 'GET',
      path: '/api/audit/checkpoint',
      options: { auth: strategy, plugins: { openApi: checkpointOperation } },
      handler: async (request, h) => {
        await requireAudit(app, request, 'headers');
        rejectQuery(request.query);
        const { note } = await notary.checkpoint();
        return plain(h, note);
      },
    },
    {
      method: 'GET',
      path: '/api/audit/stamps',
      options: { auth: strategy, plugins: { openApi: stampsOperation } },
      handler: async (request, h) => {
        await requireAudit(app, request, 'headers');
        const { covers } = readQuery(stampsParameters, request.query, app);
        const { size } = await newest();
        const { size: end } = events.head();
        if (covers !== null && covers > end)
          throw invalidField('covers', `must not be beyond the end of the log, ${end}, got ${covers}`);
        const stamped = await notary.stamped(covers ?? size + 1, size);
        return json(h, { stamped: stamped.map(({ size, note, tokens }) => ({ size, checkpoint: note, tokens })) });
      },
    },
    {
      method: 'GET',
      path: '/api/audit/tile/{path*}',
      options: { auth: strategy, plugins: { openApi: tileOperation } },
      handler: async (request, h) => {
        await requireAudit(app, request, 'headers');
        const path = String(request.params.path);
        const tile = isAsWritten(request, path) ? parseTilePath(path) : null;
        if (!tile) throw noRoute(request);
        rejectQuery(request.query);
        const { size } = await newest();
        if (!hasTile(tile, size)) {
          throw new DomainError(
            'not-found',
            `there is no such tile in the tree of the newest checkpoint, of ${counted(size, 'event')}`,
          );
        }
        return immutable(h, tileBytes(events, tile), tile.level === null);
      },
    },
    {
      method: 'GET',
      path: '/api/audit/proofs/{position}',
      options: { auth: strategy, plugins: { openApi: inclusionOperation } },
      handler: async (request, h) => {
        await requireAudit(app, request, 'headers');
        const { format } = readQuery(inclusionParameters, request.query, app);
        const position = readInteger(request.params.position, 'position', 1);
        const checkpoint = await checkpointFor(position);
        if (!checkpoint) throw new DomainError('not-found', `there is no event ${position} in the log`);
        const { size, note } = checkpoint;
        const [header = ''] = events.headers(position - 1, position);
        const proof = inclusionProof(position - 1, size, events.hashes);
        if (format !== 'json')
          return plain(h, proofText({ index: position - 1, proof, checkpoint: note, entry: Buffer.from(header) }));
        return json(h, {
          position,
          index: position - 1,
          size,
          header: JSON.parse(header),
          leaf: leafHash(header).toString('base64'),
          proof: texts(proof),
          checkpoint: note,
        });
      },
    },
    {
      method: 'GET',
      path: '/api/audit/consistency',
      options: { auth: strategy, plugins: { openApi: consistencyOperation } },
      handler: async (request, h) => {
        await requireAudit(app, request, 'headers');
        const { from, to: wanted } = readQuery(consistencyParameters, request.query, app);
        if (wanted !== null && wanted < from)
          throw invalidField('to', `must not be less than from, ${from}, got ${wanted}`);
        const to = wanted ?? Math.max(from, (await notary.checkpoint()).size);
        if (!(await checkpointFor(to))) {
          throw invalidField(wanted === null ? 'from' : 'to', `must not be beyond the end of the log, got ${to}`);
        }
        const proof = consistencyProof(from, to, events.hashes);
        const [fromRoot, toRoot] = [from, to].map((size) => events.rootAt(size).toString('base64'));
        return json(h, { from, to, fromRoot, toRoot, proof: texts(proof) });
      },
    },
  ]);
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
