import { existsSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { JsonObject } from '../../config/schema.ts';
import type { Command, Outcome } from '../../events/facts/log.ts';
import { UnknownOutcomeError } from '../../events/facts/log.ts';
import { openLog } from '../../events/log/sqlite-log.ts';
import { openPostgresLog } from '../../events/postgres/postgres-log.ts';
import { openSharedClock } from '../../events/replica/shared-clock.ts';
import { SharedLogUnavailableError } from '../../events/replica/shared-log.ts';
import { openFollower } from '../../events/replica/shared-reads.ts';
import { openSharedWriter } from '../../events/replica/shared-writer.ts';
import { createIds } from '../../events/store/ids.ts';
import { createLog } from '../../events/store/log-file.ts';
import type { PostgresAddress } from '../../storage/postgres/connection.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { claim, command, seals } from '../events/logs.ts';

// A node that is the writer, the follower and the replica, and nothing else: as a process, so that it can be killed,
// stopped and given another clock. It answers so much of the API of a service that the same clients can be used.

const { address, data, port } = JSON.parse(process.argv[2] ?? '') as {
  address: PostgresAddress;
  data: string;
  port: number;
};

/** Answers of a node: those of a service with the same meaning. */
type Told = { status: number; body?: JsonObject; version?: number };

const clock = openSharedClock(Date.now);
const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), clock.now);
const shared = await openPostgresLog({
  address,
  site: '',
  makeName: () => `annals/${ids.next().id}`,
  warn: () => {},
  opening: 60_000,
});
mkdirSync(data, { recursive: true });
const file = join(data, 'log.db');
const isNew = !existsSync(file);
const db = openDatabase(file, { durability: 'normal' });
if (isNew) createLog(db, shared.name, seals.key);
const log = openLog(db, { ids, now: clock.now, seals });
/** Sees only what is committed. */
const committed = openDatabase(file, { readonly: true });
const select = committed.prepare<[stream: string], { version: number; body: string }>(
  'SELECT version, body FROM events JOIN payloads USING (position) WHERE stream = ? ORDER BY version DESC LIMIT 1',
);

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.name : ''} ${error}\n`, () => process.exit(70));
}

const writer = openSharedWriter({ replica: log, shared, clock, apply: () => {}, patience: 5000 });
const follower = openFollower({ shared, reached: () => log.head().size, follow: writer.follow, fail });

async function append(one: Command): Promise<Outcome | Error> {
  try {
    const { outcomes } = await writer.append([one]);
    follower.tell();
    return outcomes[0] as Outcome | Error;
  } catch (error) {
    if (!isUnavailable(error)) fail(error);
    return error as Error;
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof SharedLogUnavailableError || error instanceof UnknownOutcomeError;
}

function found(id: string): { version: number; set: JsonObject } | null {
  const row = select.get(`things/${id}`);
  const { data: found } = row ? (JSON.parse(row.body) as { data: JsonObject }) : { data: {} };
  return row ? { version: row.version, set: (found.set ?? found) as JsonObject } : null;
}

async function write(id: string, expected: number | null, set: JsonObject, key: string | undefined): Promise<Told> {
  const outcome = await append(
    command(`things/${id}`, expected, {
      events: [expected === 0 ? { type: 'document.created', data: set } : { type: 'document.updated', data: { set } }],
      claims: typeof set.name === 'string' ? [claim(set.name, 'things.name')] : [],
      ...(key === undefined ? {} : { idempotency: { key, fingerprint: JSON.stringify(set) } }),
    }),
  );
  if (outcome instanceof Error) return { status: isUnavailable(outcome) ? 503 : 500 };
  if (outcome.ok) return { status: expected === 0 ? 201 : 200, body: { id, ...set }, version: outcome.version };
  if (outcome.conflict === 'version') return { status: 412 };
  if (outcome.conflict === 'claim') return { status: 409 };
  const { stream, version } = outcome.first;
  return { status: expected === 0 ? 201 : 200, body: { id: stream.split('/')[1] as string, ...set }, version };
}

async function read(id: string): Promise<Told> {
  try {
    await follower.current();
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return { status: 503 };
  }
  const document = found(id);
  return document ? { status: 200, body: { id, ...document.set }, version: document.version } : { status: 404 };
}

const server = createServer(async (request, response) => {
  try {
    const body = await text(request);
    const [, , , , id] = (request.url ?? '').split('/');
    const key = request.headers['idempotency-key'];
    const match = /^"(\d+)-/.exec(request.headers['if-match'] ?? '')?.[1];
    const expected = match === undefined ? null : Number(match);
    const told = await (request.method === 'GET'
      ? read(id ?? '')
      : write(id ?? ids.next().id, id === undefined ? 0 : expected, JSON.parse(body) as JsonObject, key?.toString()));
    if (told.version !== undefined) response.setHeader('etag', `"${told.version}-x"`);
    response.writeHead(told.status, { 'content-type': 'application/json' }).end(JSON.stringify(told.body ?? {}));
  } catch (error) {
    fail(error);
  }
});
server.listen(port, '127.0.0.1', () => {
  process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});

process.on('SIGTERM', async () => {
  server.close();
  server.closeAllConnections();
  await follower.close();
  await writer.close();
  await shared.close();
  process.exit(0);
});
