import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../storage/sqlite.ts';
import { createRandom } from './content.ts';
import { createDocs } from './floor.ts';
import type { Call } from './load.ts';
import { runModule, startAnnals, startFloor } from './processes.ts';
import { table, verdict } from './report.ts';
import { compare, loadColumns, loadRow, type Plan, type Side } from './rounds.ts';

const documents = 10_000;

/** Compares reads by id at 32 connections, with one thread, with the floor, which sends the same stored JSON. */
export async function read(folder: string, plan: Plan): Promise<void> {
  const { data, floor, ids } = prepare(folder);
  // A data directory has only one server, so the quiet one gets its own copy, made the same way.
  const quiet = prepare(join(folder, 'quiet'));
  const servers = [
    await startFloor(floor),
    await startAnnals(data, join(folder, 'info'), { threads: 1 }),
    await startAnnals(quiet.data, join(folder, 'silent'), { threads: 1, logLevel: 'silent' }),
  ] as const;
  try {
    const ours = (list: readonly string[]) => reads('/api/collections/posts/', list);
    const sides: Side[] = [
      { name: 'floor: bare hapi, stored JSON', server: servers[0], calls: reads('/docs/', ids) },
      { name: 'annals, log level info', server: servers[1], calls: ours(ids) },
      { name: 'annals, log level silent', server: servers[2], calls: ours(quiet.ids) },
    ];
    const [bare, info, silent] = (await compare(sides, plan)) as [Figures, Figures, Figures];
    const rows = [bare, info, silent].map((figures, index) => loadRow(sides[index]?.name ?? '', figures));
    table(`Read by id, ${documents} documents, 32 connections`, loadColumns, rows);
    verdict('reads by id, requests/s of the floor, log level info', info.perSecond / bare.perSecond, 0.9);
    verdict('reads by id, requests/s of the floor, log level silent', silent.perSecond / bare.perSecond, 0.7);
    verdict('the same by CPU per request, info', bare.cpu / info.cpu, 0.9);
    verdict('the same by CPU per request, silent', bare.cpu / silent.cpu, 0.7);
  } finally {
    for (const server of servers) await server.stop();
  }
}

type Figures = Awaited<ReturnType<typeof compare>>[number];

/** 2,000 reads by id in random order. */
export function reads(prefix: string, ids: readonly string[]): Call[] {
  const random = createRandom(7);
  return Array.from({ length: 2000 }, () => {
    return { method: 'GET', path: prefix + ids[Math.floor(random() * ids.length)] };
  });
}

/** Makes a data directory with posts, and the floor's table with the same texts. */
export function prepare(
  folder: string,
  checkout?: string,
): { data: string; floor: string; ids: string[]; authors: string[] } {
  const data = join(folder, 'data');
  runModule('./generate.ts', [data, String(documents), '1', '0'], checkout === undefined ? {} : { checkout });
  const name = readdirSync(data).find((file) => /^read-.*\.db$/.test(file)) as string;
  const source = openDatabase(join(data, name), { readonly: true });
  const rows = source
    .prepare('SELECT id, doc FROM "documents posts" JOIN "texts posts" USING (key) ORDER BY key')
    .all() as Row[];
  const authors = source.prepare('SELECT id FROM "documents authors"').pluck().all() as string[];
  source.close();

  const db = openDatabase(join(folder, 'floor.db'));
  createDocs(db);
  const insert = db.prepare('INSERT INTO docs (id, json) VALUES (?, ?)');
  db.transaction(() => {
    for (const { id, doc } of rows) insert.run(id, doc);
  })();
  db.close();
  return { data, floor: folder, ids: rows.map(({ id }) => id), authors };
}

type Row = { id: string; doc: string };
