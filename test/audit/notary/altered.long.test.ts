import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { appendLeaf, leafHash, rootOf, type Tree, tileWidth } from '../../../events/proof/merkle.ts';
import { openDatabase, type Sqlite } from '../../../storage/sqlite.ts';
import { sealsIn } from '../../events/logs.ts';
import { type HereService, startHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { apiKey, temporaryFolder } from '../../helpers/service.ts';
import { useStarted } from '../../helpers/shared.ts';
import { openDirectory } from '../../projections/directory.ts';

const config = {
  audit: () => true,
  collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' as const }] }],
};
const headers = { 'x-api-key': apiKey };

/**
 * Events 2 and 3 are the first two versions of one document, 300 is its third: the log has a full tile, and a right
 * edge.
 */
const small = { from: 2, to: 3, late: 300 };

function fill(folder: string): string {
  const directory = openDirectory(folder, config, { seals: sealsIn(folder) });
  const id = directory.create('posts', { title: 'the first' });
  directory.update('posts', id, { title: 'the second' });
  for (let position = 4; position < small.late; position += 1) directory.create('posts', { title: `post ${position}` });
  directory.update('posts', id, { title: 'the third' });
  for (let position = 301; position <= 305; position += 1) directory.create('posts', { title: `post ${position}` });
  directory.close();
  return id;
}

/** Somebody with `log.db` at hand. The functions that it gives undo each change. */
type Lie = { name: string; tell: (db: Sqlite) => void; told: RegExp; found: RegExp; at: [number, number] | null };

function change(table: string, column: string, position: number, make: (value: never) => unknown): Lie['tell'] {
  return (db) => {
    const value = db.prepare(`SELECT ${column} FROM ${table} WHERE rowid = ?`).pluck().get(position);
    const changed = make(value as never);
    assert.notDeepEqual(changed, value);
    db.prepare(`UPDATE ${table} SET ${column} = ? WHERE rowid = ?`).run(changed, position);
  };
}

function asSomebodyElse(position: number): Lie['tell'] {
  return (db) =>
    db.prepare("UPDATE events SET actor_type = 'user', actor_id = 'users/somebody' WHERE position = ?").run(position);
}
const flipped = (text: string) => text.replace(/second/, 'sec0nd');
const committed = 'its payload is not the one committed to';

const lies: Lie[] = [
  {
    name: 'a payload whose text was changed',
    tell: change('payloads', 'body', 3, flipped),
    told: new RegExp(`event 3 of the log was altered: ${committed}`),
    found: new RegExp(`^event 3 \\(posts/.*\\): ${committed}$`),
    at: [3, 3],
  },
  {
    name: 'two payloads that were swapped',
    tell: (db) => {
      db.exec(`UPDATE payloads SET position = 9999 WHERE position = 2; UPDATE payloads SET position = 2 WHERE position = 3;
               UPDATE payloads SET position = 3 WHERE position = 9999`);
    },
    told: new RegExp(`event [23] of the log was altered: ${committed}`),
    found: new RegExp(`^event 2 \\(posts/.*\\): ${committed}$`),
    at: [2, 2],
  },
  {
    name: 'a payload that was deleted',
    tell: (db) => db.exec('DELETE FROM payloads WHERE position = 3'),
    told: /event 3 of the log was altered: its payload is missing/,
    found: /^event 3: its payload is missing$/,
    at: [3, 3],
  },
  {
    name: 'a payload that says it is of another encoding',
    tell: change('payloads', 'enc', 3, () => 1),
    told: /event 3 of the log was altered: its payload has an unknown encoding 1/,
    found: /^event 3: its payload has an unknown encoding 1$/,
    at: [3, 3],
  },
  {
    name: 'another actor in a header below a full tile',
    tell: asSomebodyElse(3),
    told: /event 3 of the log was altered: its header is not the one that the tree holds/,
    found: /^event 3 was altered: the tree over all \d+ events does not give the root of the head$/,
    at: [3, 3],
  },
  {
    name: 'another actor in a header at the right edge',
    tell: asSomebodyElse(small.late),
    told: /(event 300|one of the events 257 to \d+) of the log was altered/,
    found: /^one of the events 257 to \d+ was altered/,
    at: [257, 305],
  },
  {
    name: 'an event whose header has another id',
    tell: change('events', 'id', 3, () => '00000000-0000-7000-8000-000000000000'),
    told: /event 3 of the log was altered: its header is not the one that the tree holds/,
    found: /^event 3 was altered: the tree over all \d+ events does not give the root of the head$/,
    at: [3, 3],
  },
  {
    name: 'an event that was made one of another document',
    tell: change('events', 'stream', 3, () => 'posts/another'),
    told: /version 2 of posts\/[\w-]+ is missing from the log|event 3 of the log was altered: its header is not/,
    found: /^event 3 is version 2 of posts\/another, which is not the next one there$/,
    at: [3, 3],
  },
  {
    name: 'an event that was removed',
    tell: (db) => db.exec('DELETE FROM payloads WHERE position = 3; DELETE FROM events WHERE position = 3'),
    told: /version 2 of posts\/[\w-]+ is missing from the log|event 3 of the log is missing/,
    found: /^event 3 is missing: the next one is at position 4$/,
    at: [3, 3],
  },
];

/** A proven tile is remembered, so a service that has not read it yet must find this one. */
const zeroed: Lie = {
  name: 'a tile of zeros',
  tell: (db) => db.exec('UPDATE tiles SET hashes = zeroblob(8192) WHERE level = 0 AND idx = 0'),
  told: /tile 0\/0 of the log was altered: it is not what its tree is made of/,
  found: /^tile 0\/0 does not follow from the events$/,
  at: null,
};
const otherTime: Lie = {
  name: 'another time in the head',
  tell: (db) => db.exec("UPDATE head SET recorded_at = '2030-01-01T00:00:00.000Z'"),
  told: /the head of the log was altered: its time is not that of the last event/,
  found: /^the last event was recorded at \S+, the head says 2030-01-01T00:00:00.000Z$/,
  at: null,
};

const zeroSeal: Lie = {
  name: 'a head that somebody has sealed with zeros',
  tell: (db) => db.exec('UPDATE head SET mac = zeroblob(32)'),
  told: /./,
  found: /^the head of log\.db is not sealed by the key of vault\.db: somebody wrote to log\.db who does not have it$/,
  at: null,
};
const elsewhere: Lie = {
  name: 'a checkpoint in the place of another',
  tell: (db) => db.exec('UPDATE checkpoints SET size = size - 1'),
  told: /./,
  found: /^the checkpoint of position \d+ is one of \d+ events, and stands in the place of one of \d+$/,
  at: null,
};

/**
 * Writes into `log.db` as somebody does who has the file: without its triggers, and with no other mark. Gives what
 * undoes it.
 */
function tamper(data: string, tell: Lie['tell']): () => void {
  const tables = ['events', 'payloads', 'tiles', 'head', 'checkpoints'];
  let kept: [string, Record<string, unknown>[]][] = [];
  within(data, (db) => {
    kept = tables.map((table) => [table, db.prepare(`SELECT rowid AS rowid, * FROM ${table}`).all()] as never);
    tell(db);
  });
  return () =>
    within(data, (db) => {
      db.exec('DELETE FROM checkpoints');
      for (const [table, rows] of kept) {
        for (const row of rows) {
          const names = Object.keys(row).filter((name) => name !== 'rowid' || table === 'head' || table === 'tiles');
          const places = names.map((name) => `@${name}`).join(', ');
          db.prepare(`INSERT OR REPLACE INTO ${table} (${names.join(', ')}) VALUES (${places})`).run(row);
        }
      }
    });
}

function within(data: string, run: (db: Sqlite) => void): void {
  const db = openDatabase(join(data, 'log.db'));
  const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
    name: string;
    sql: string;
  }[];
  db.pragma('foreign_keys = OFF');
  db.exec('BEGIN IMMEDIATE');
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
  run(db);
  for (const { sql } of triggers) db.exec(sql);
  db.exec('COMMIT');
  db.close();
}

type Answer = { status: number; body: string };

async function ask(service: HereService, method: string, path: string, body?: object): Promise<Answer> {
  try {
    const response = await fetch(service.url + path, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: Buffer.from(await response.arrayBuffer()).toString('latin1') };
  } catch {
    // Cut off: no client takes that for whole.
    return { status: 0, body: '' };
  }
}

function sizeOf({ data }: HereService): number {
  const db = openDatabase(join(data, 'log.db'), { readonly: true });
  const size = db.prepare('SELECT size FROM head').pluck().get() as number;
  db.close();
  return size;
}

describe('A log that somebody has written into', () => {
  let id = '';
  const service = useStarted((t) => {
    const data = join(temporaryFolder(t), 'data');
    id = fill(data);
    return startHere(t, config, { data, verifyPercent: 0 });
  });

  /** The reads of the second version of the document; with `late`, of the third. */
  const reads = (late: boolean): [string, string, object?][] => {
    const [version, position] = late ? [3, small.late] : [2, 3];
    return [
      ['GET', `/api/audit/documents/posts/${id}`],
      ['GET', `/api/audit/documents/posts/${id}/versions/${version}`],
      ['GET', `/api/audit/documents/posts/${id}/diff?from=${version - 1}&to=${version}`],
      ['GET', `/api/audit/documents/posts/${id}/blame?version=${version}`],
      ['GET', `/api/audit/events?next=${position - 1}&limit=1`],
      ['GET', `/api/audit/feed?next=${position - 1}&limit=1`],
      ['GET', `/api/audit/bundles/posts/${id}`],
      ['POST', `/api/collections/posts/${id}/restore`, { version }],
    ];
  };
  /** The reads of headers and hashes alone. */
  const proofs = (late: boolean): [string, string][] => {
    const position = late ? small.late : 3;
    return [
      ['GET', `/api/audit/proofs/${position}`],
      ['GET', '/api/audit/tile/entries/000'],
    ];
  };

  for (const { name, tell, told } of lies) {
    it(`is told, and not served: ${name}`, async () => {
      const size = sizeOf(service);
      const isLate = name.includes('right edge');
      const undo = tamper(service.data, tell);
      try {
        const isHeader = /header|column|document|removed/.test(name);
        for (const [method, path, body] of reads(isLate)) {
          const answer = await ask(service, method, path, body);
          assert.equal(answer.status, 500, `${path}: ${answer.body.slice(0, 300)}`);
          const { statusCode, error, message, ...rest } = JSON.parse(answer.body);
          assert.deepEqual([statusCode, error, rest], [500, 'Internal Server Error', { code: 'log_altered' }]);
          assert.match(message, told, path);
          assert.doesNotMatch(message, /log\.db|SELECT|\/tmp|\.ts/);
        }
        for (const [method, path] of isHeader && !isLate ? proofs(isLate) : []) {
          const { status, body } = await ask(service, method, path);
          assert.equal(status, 500, path);
          assert.match(JSON.parse(body).message, told, path);
        }
        // The answer has begun, so it is cut off; if the service counts headers first, it has not begun.
        const exported = await ask(service, 'GET', '/api/audit/export');
        assert.ok([0, 500].includes(exported.status), String(exported.status));
      } finally {
        undo();
      }
      assert.ok(service.lines().some(({ level, err }) => level === 50 && told.test(err?.message ?? '')));
      // An export is on record before it begins; a restore is not.
      assert.ok(sizeOf(service) - size <= 1);
      const again = await ask(service, 'GET', `/api/audit/documents/posts/${id}/versions/2`);
      assert.equal(again.status, 200, 'what was put back is served');
      assert.match(again.body, /the second/);
    });
  }

  it('serves documents as they are, and as they were', async () => {
    const undo = tamper(service.data, (lies[0] as Lie).tell);
    try {
      const now = await ask(service, 'GET', `/api/collections/posts/${id}`);
      assert.match(now.body, /"title":"the third"/);
      const then = await ask(service, 'GET', `/api/collections/posts/${id}?asOf=3`);
      assert.match(then.body, /"title":"the second"/);
    } finally {
      undo();
    }
  });

  it('does not serve again what was erased and put back', async () => {
    const made = JSON.parse((await ask(service, 'POST', '/api/collections/posts', { title: 'to go' })).body);
    const db = openDatabase(join(service.data, 'log.db'), { readonly: true });
    const position = db.prepare('SELECT size FROM head').pluck().get() as number;
    const payload = db.prepare('SELECT * FROM payloads WHERE position = ?').get(position) as object;
    db.close();
    const erased = await ask(service, 'POST', '/api/audit/erasures', {
      collection: 'posts',
      id: made.id,
      reason: 'asked for',
    });
    assert.equal(erased.status, 201, erased.body);
    const path = `/api/audit/documents/posts/${made.id}`;
    assert.match((await ask(service, 'GET', path)).body, /"erased":true/);
    within(service.data, (log) => log.prepare('INSERT INTO payloads VALUES (@position, @enc, @body)').run(payload));
    const { status, body } = await ask(service, 'GET', path);
    within(service.data, (log) => log.prepare('DELETE FROM payloads WHERE position = ?').run(position));
    assert.equal(status, 500);
    assert.match(body, new RegExp(`event ${position} of the log was altered: its payload was erased, and is there`));
    assert.match((await ask(service, 'GET', path)).body, /"erased":true/);
  });
});

/** Makes the whole tree anew, as the log made it: nothing in the file says any more that a header was another. */
function rewrite(position: number): Lie['tell'] {
  return (db) => {
    asSomebodyElse(position)(db);
    const tree: Tree = { size: 0, nodes: [] };
    const tiles = new Map<string, Buffer[]>();
    for (const header of db.prepare('SELECT header FROM headers ORDER BY position').pluck().all() as string[]) {
      const size = tree.size + 1;
      appendLeaf(tree, leafHash(header), (height, node) => {
        if (height % 8 !== 0) return;
        const at = size / 2 ** height - 1;
        const key = `${height / 8}/${Math.floor(at / tileWidth)}`;
        tiles.set(key, [...(tiles.get(key) ?? []), node]);
      });
    }
    for (const [key, hashes] of tiles) {
      const [level = 0, index = 0] = key.split('/').map(Number);
      const set = db.prepare('UPDATE tiles SET hashes = ? WHERE level = ? AND idx = ?');
      set.run(Buffer.concat(hashes), level, index);
    }
    db.prepare('UPDATE head SET root = ?').run(rootOf(tree));
  };
}

describe('A service that goes through its log', () => {
  const service = useStarted((t) => {
    const data = join(temporaryFolder(t), 'data');
    fill(data);
    return startHere(t, config, { data, verifyPercent: 100 });
  });
  const logNow = async () => JSON.parse((await ask(service, 'GET', '/api/audit/log')).body);
  const fatal = () => service.lines().filter(({ level }) => level === 60);

  it('says up to where it has found nothing wrong, and when', async () => {
    await ask(service, 'GET', '/api/audit/checkpoint');
    const body = await eventually(async () => {
      const log = await logNow();
      return log.verified?.to === log.size ? log : null;
    });
    assert.match(body.verified.at, /^\d{4}-\d\d-\d\dT/);
    assert.equal('altered' in body, false);
    assert.deepEqual(fatal(), []);
  });

  for (const { name, tell, told, found, at } of [zeroed, otherTime, zeroSeal, elsewhere, ...lies]) {
    it(`finds ${name}, says so once in its log, and to auditors`, async () => {
      const before = fatal().length;
      const undo = tamper(service.data, tell);
      try {
        if (name === zeroed.name) {
          const { status, body } = await ask(service, 'GET', '/api/audit/proofs/3');
          assert.equal(status, 500);
          assert.match(JSON.parse(body).message, told);
        }
        const { altered } = await eventually(async () => {
          const log = await logNow();
          return found.test(log.altered?.finding ?? '') ? log : null;
        });
        assert.deepEqual([altered.from, altered.to], at ?? [null, null], JSON.stringify(altered));
        const said = fatal().slice(before);
        assert.ok(said.some(({ msg }) => msg.startsWith(`the log is not what was recorded: ${altered.finding};`)));
        assert.equal(new Set(said.map(({ msg }) => msg)).size, said.length, 'each is said once');
      } finally {
        undo();
      }
      const { altered, verified, size } = await eventually(async () => {
        const log = await logNow();
        return log.verified.at > log.altered.at ? log : null;
      });
      assert.equal(verified.to, size);
      assert.match(altered.finding, found, 'what was found once is told until it is verified');
    });
  }

  it('says between which checkpoints a log was rewritten, and so do a check and the next start', async (t) => {
    const sizes: number[] = [];
    assert.match(
      (await runHere(['verify', '--data', service.data])).stdout,
      /was known to be altered: it is sound now/,
    );
    for (const count of [1, 4, 3]) {
      for (let made = 0; made < count; made += 1)
        await ask(service, 'POST', '/api/collections/posts', { title: 'more' });
      const { body } = await ask(service, 'GET', '/api/audit/checkpoint');
      sizes.push(Number(body.split('\n')[1]));
    }
    const [first = 0, second = 0] = sizes;
    const undo = tamper(service.data, rewrite(first + 2));
    t.after(undo);
    const between = `first altered between ${first + 1} and ${second}`;
    const { altered } = await eventually(async () => {
      const log = await logNow();
      return log.altered?.finding.endsWith(between) ? log : null;
    });
    assert.deepEqual([altered.from, altered.to], [first + 1, second]);
    await service.stop();
    const check = await runHere(['verify', '--data', service.data]);
    assert.equal(check.code, 1);
    assert.match(check.stdout, new RegExp(`NOT SOUND: the log was altered: .*; ${between}`));
    await assert.rejects(startHere(t, config, { data: service.data }), new RegExp(between));
  });
});

/** The last value of something. */
async function eventually<T>(look: () => Promise<T | null>): Promise<T> {
  for (let tries = 0; tries < 300; tries += 1) {
    const found = await look();
    if (found !== null) return found;
    await setTimeout(50);
  }
  throw new Error('it never came to that');
}
