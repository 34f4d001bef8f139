import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { readLog } from '../events/log/log-reader.ts';
import { openLogToRead } from '../events/store/log-file.ts';
import { logFile } from '../projections/tables/files.ts';
import { megabytes } from './memory.ts';
import type { Database, Postgres } from './postgres.ts';
import { apiKey, pathOf, runModule, type Server, startAnnals } from './processes.ts';
import { quantile, round, table, verdict, verdictAtMost } from './report.ts';

/**
 * The targets: `freeze`, the milliseconds for which writes may wait; `joining`, the events per second of a new node: a
 * million per minute.
 */
const targets = { freeze: 5000, joining: 1_000_000 / 60 };
/** The time until threads have returned memory. */
const restMilliseconds = 60_000;

type End = { size: number; root: string };

/**
 * Moves a log into PostgreSQL while a service writes to it, starts a node on an empty directory, and moves the log
 * back.
 */
export async function moves(folder: string, postgres: Postgres, events: number): Promise<void> {
  const [data, alone, fresh] = ['moved', 'alone', 'fresh'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(folder, { recursive: true });
  runModule('./generate.ts', [data, String(events)]);
  cpSync(data, alone, { recursive: true });
  const database = await postgres.makeDatabase();
  const start = (directory: string, environment: Record<string, string>) =>
    startAnnals(directory, `${directory}-server`, { threads: 1, environment });
  const asNode = { ANNALS_POSTGRES_URL: database.address };
  const started: Server[] = [];
  try {
    await moveThere(data, database, () => start(data, {}));
    started.push(await joinAnew(fresh, await endIn(database), () => start(fresh, asNode)));
    started.push(await start(alone, {}), await start(data, asNode));
    await wait(restMilliseconds);
    memoryOf(started);
    for (const server of started.splice(0)) await server.stop();
    await sizes({ alone, fresh }, database);
    await moveBack(data, database);
  } finally {
    for (const server of started) await server.stop();
    await database.drop();
  }
}

async function moveThere(data: string, database: Database, start: () => Promise<Server>): Promise<void> {
  const server = await start();
  try {
    const writing = writeOn(server);
    await wait(2000);
    const writesBefore = writing.times.length;
    const { seconds, printed } = await moveLog(data, ['--to', database.address], {});
    const longest = Math.max(...writing.times.slice(writesBefore));
    await writing.stop();
    const there = await endIn(database);
    const frozen = Number(/writes waited for (\d+) ms/.exec(printed)?.[1]);
    table('annals log move into PostgreSQL, while a service writes', moveColumns, [
      [
        there.size,
        round(seconds),
        round(there.size / seconds),
        frozen,
        writing.times.length - writesBefore,
        round(longest),
      ],
    ]);
    process.stdout.write(
      `\np50, p99 of writes before: ${round(quantile(writing.times.slice(0, writesBefore), 0.5))}, `,
    );
    process.stdout.write(`${round(quantile(writing.times.slice(0, writesBefore), 0.99))} ms; `);
    process.stdout.write(`meanwhile: ${round(quantile(writing.times.slice(writesBefore), 0.5))}, `);
    process.stdout.write(`${round(quantile(writing.times.slice(writesBefore), 0.99))} ms\n`);
    requireSame(there, endOf(data));
    verdictAtMost('writes waited, ms', Math.max(frozen, longest), targets.freeze);
  } finally {
    await server.stop();
  }
}

const moveColumns = ['events', 's', 'events/s', 'writes waited, ms', 'writes meanwhile', 'longest of them, ms'];

/** Writes now and then until the log has moved, and notes the time of each write in milliseconds. */
function writeOn({ url }: Server) {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
  const times: number[] = [];
  let isOver = false;
  const loops = Array.from({ length: 2 }, async (_, writer) => {
    for (let count = 0; !isOver; count += 1) {
      const begun = performance.now();
      const body = JSON.stringify({ name: `Writer ${writer}-${count}` });
      const answer = await fetch(`${url}/api/collections/authors`, { method: 'POST', headers, body });
      const said = await answer.text();
      if (answer.status === 503 && said.includes('has moved')) return;
      if (answer.status !== 201) throw new Error(`a write was answered with ${answer.status}: ${said}`);
      times.push(performance.now() - begun);
      await wait(50);
    }
  });
  const all = Promise.all(loops);
  all.catch(() => {});
  return {
    times,
    stop: async () => {
      isOver = true;
      await all;
    },
  };
}

async function moveBack(data: string, database: Database): Promise<void> {
  const before = await endIn(database);
  const { seconds } = await moveLog(data, ['--to', 'sqlite'], { ANNALS_POSTGRES_URL: database.address });
  process.stdout.write(`\nannals log move back, the replica has all: ${round(seconds)} s\n`);
  requireSame(before, endOf(data));
  const server = await startAnnals(data, `${data}-server`, { threads: 1 });
  await server.stop();
}

/** Runs `annals log move`. @returns the duration in seconds, including the start of the process. */
async function moveLog(data: string, args: readonly string[], environment: Record<string, string>) {
  const begun = performance.now();
  const child = spawn(process.execPath, [pathOf('../cli/main.js'), 'log', 'move', ...args, '--data', data], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [printed, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if ((await code) !== 0) throw new Error(`annals log move ended with ${await code}: ${errors}`);
  return { seconds: (performance.now() - begun) / 1000, printed };
}

async function endIn({ sql }: Database): Promise<End> {
  const [row] = await sql<{ size: string; root: string }>("SELECT size, encode(root, 'hex') AS root FROM annals.heads");
  return { size: Number(row?.size), root: row?.root ?? '' };
}

function endOf(data: string): End {
  const db = openLogToRead(logFile(data));
  try {
    const { size, root } = readLog(db).head();
    return { size, root: root.toString('hex') };
  } finally {
    db.close();
  }
}

function requireSame(one: End, other: End): void {
  if (one.size !== other.size || one.root !== other.root)
    throw new Error(`the logs differ: ${JSON.stringify(one)}, ${JSON.stringify(other)}`);
  process.stdout.write(`\nsame size and root: ${one.size}, ${one.root.slice(0, 16)}…\n`);
}

/** Starts a node on an empty directory, and resolves when the node is ready. */
async function joinAnew(data: string, end: End, start: () => Promise<Server>): Promise<Server> {
  const begun = performance.now();
  const seconds = () => (performance.now() - begun) / 1000;
  let log = Number.NaN;
  const watch = setInterval(() => {
    if (Number.isNaN(log) && hasAll(data, end)) log = seconds();
  }, 100);
  try {
    const server = await start();
    while ((await fetch(`${server.url}/ready`)).status !== 200) await wait(20);
    const ready = seconds();
    const columns = ['events', 'log taken in, s', 'events/s', 'ready, s', 'events/s'];
    const { size } = end;
    table('A node on an empty directory', columns, [
      [size, round(log), round(size / log), round(ready), round(size / ready)],
    ]);
    verdict('events/s that a new node takes in, its start included', size / log, round(targets.joining) as number);
    return server;
  } finally {
    clearInterval(watch);
  }
}

function hasAll(data: string, { size }: End): boolean {
  try {
    return endOf(data).size >= size;
  } catch {
    // The file does not exist yet.
    return false;
  }
}

function memoryOf([fresh, alone, moved]: readonly Server[]): void {
  const resident = (server: Server | undefined) => (server ? round(megabytes(server, 'VmRSS')) : '');
  table(
    'Resident memory at rest, one thread, MB',
    ['log in a file', 'node, after the move', 'node that has just joined'],
    [[resident(alone), resident(moved), resident(fresh)]],
  );
}

type Directories = { alone: string; fresh: string };

/** The bytes of an event in the tables of PostgreSQL, and in data directories. */
async function sizes({ alone, fresh }: Directories, { sql }: Database): Promise<void> {
  const { size } = endOf(fresh);
  const each = (bytes: number) => Math.round(bytes / size);
  const rows = await sql<{ what: string; bytes: string }>(
    `SELECT regexp_replace(relname, '_[0-9_]+$', '') AS what, sum(pg_total_relation_size(c.oid)) AS bytes
     FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname IN ('annals', 'annals_vault') AND relkind = 'r' GROUP BY what ORDER BY bytes DESC`,
  );
  const all = rows.reduce((sum, { bytes }) => sum + Number(bytes), 0);
  const shown = rows.filter(({ bytes }) => Number(bytes) > all / 200);
  table(
    'In PostgreSQL, bytes for an event, indexes included',
    ['', 'bytes'],
    [...shown.map(({ what, bytes }) => [what, each(Number(bytes))]), ['all', each(all)]],
  );
  table(
    'In data directories of a stopped service, bytes for an event',
    ['', 'log', 'read tables'],
    [
      ['log in a file', ...[/^(log\.db|segments)/, /^read-/].map((files) => each(bytesIn(alone, files)))],
      ['node', ...[/^(log\.db|segments)/, /^read-/].map((files) => each(bytesIn(fresh, files)))],
    ],
  );
}

function bytesIn(folder: string, files: RegExp): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => files.test(name))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}
