import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import Hapi, { type ResponseToolkit } from '@hapi/hapi';
import { openDatabase, type Sqlite } from '../storage/sqlite.ts';

/**
 * Serves the floor, the minimum that hapi and better-sqlite3 can do for a request. `GET /docs/{id}` sends stored JSON;
 * `GET /docs` sends a page of it with a total that was counted at the start; `POST /docs` stores the body in one table,
 * with all bodies of one turn of the event loop in one transaction. There is no schema, no log, no access control.
 */
async function serve(directory: string): Promise<void> {
  const db = openDatabase(join(directory, 'floor.db'), { durability: 'full', cacheMiB: 64 });
  createDocs(db);
  const select = db.prepare('SELECT json FROM docs WHERE id = ?').pluck();
  const selectPage = db.prepare('SELECT json FROM docs ORDER BY seq DESC LIMIT ? OFFSET ?').pluck();
  const total = db.prepare('SELECT count(*) FROM docs').pluck().get();
  const insert = groupInsert(db);
  const server = Hapi.server({ host: '127.0.0.1', port: 0 });
  const send = (h: ResponseToolkit, text: string) => h.response(text).type('application/json');

  server.route([
    {
      method: 'GET',
      path: '/docs/{id}',
      handler: (request, h) => {
        const text = select.get(request.params.id) as string | undefined;
        return text === undefined ? h.response().code(404) : send(h, text);
      },
    },
    {
      method: 'GET',
      path: '/docs',
      handler: ({ query }, h) => {
        const limit = Number(query.limit ?? 10);
        const page = Number(query.page ?? 1);
        const docs = selectPage.all(limit, (page - 1) * limit).join(',');
        return send(h, `{"docs":[${docs}],"total":${total},"limit":${limit},"page":${page}}`);
      },
    },
    {
      method: 'POST',
      path: '/docs',
      handler: async (request, h) => {
        const id = randomUUID();
        const now = new Date().toISOString();
        const text = JSON.stringify({ id, createdAt: now, updatedAt: now, ...(request.payload as object) });
        await insert(id, text);
        return send(h, text).code(201);
      },
    },
  ]);
  await server.start();
  process.stdout.write(`listening on ${server.info.uri}\n`);
}

/** The one table of the floor. */
export function createDocs(db: Sqlite): void {
  db.exec('CREATE TABLE IF NOT EXISTS docs (seq INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, json TEXT NOT NULL)');
}

type Waiting = { id: string; text: string; resolve: () => void };

function groupInsert(db: Sqlite): (id: string, text: string) => Promise<void> {
  const insert = db.prepare('INSERT INTO docs (id, json) VALUES (?, ?)');
  let queue: Waiting[] = [];
  const keep = db.transaction((batch: Waiting[]) => {
    for (const { id, text } of batch) insert.run(id, text);
  });

  function flush(): void {
    const batch = queue;
    queue = [];
    keep.immediate(batch);
    for (const { resolve } of batch) resolve();
  }

  return (id, text) =>
    new Promise((resolve) => {
      if (queue.length === 0) setImmediate(flush);
      queue.push({ id, text, resolve });
    });
}

if (import.meta.main) await serve(process.argv[2] as string);
