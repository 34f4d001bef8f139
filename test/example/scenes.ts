import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import Database from 'better-sqlite3';
import { writeAhead } from '../helpers/clock-ahead.ts';
import { apiKey, type Service, startService } from '../helpers/service.ts';

/** The configuration of all scenes. */
export const config = {
  collections: [
    {
      slug: 'users',
      auth: { maxLoginAttempts: 2 },
      fields: [
        { name: 'name', type: 'text' },
        { name: 'tags', type: 'json' },
      ],
    },
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'status', type: 'text' },
      ],
    },
    { slug: 'media', upload: true, fields: [] },
  ],
  globals: [{ slug: 'site', fields: [] }],
};

type Place = { folder: string; data: string; environment: Record<string, string> };

/** The place in which the commands of a block are typed, in their order. */
export type Stage = Place & {
  /** The command that the reader types in the place of the page's example. */
  rewrite?: (command: string) => string;
  input?: string;
  /** An event before a command. */
  before?: Record<string, () => unknown>;
  /** The part of an answer that is compared. */
  shown?: (text: string) => string;
  after?: () => unknown;
};

type Scene = (t: TestContext, place: Place) => Promise<Partial<Stage>>;

const start = (t: TestContext, { data }: Place) => startService(t, config, { data });

async function post(service: Service, fields: object): Promise<string> {
  const { status, body } = await service.call('POST', '/api/collections/posts', fields);
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

/** Posts that a service has recorded before it stopped. */
async function recorded(t: TestContext, place: Place, count = 2): Promise<string[]> {
  const service = await start(t, place);
  const ids = [];
  for (let index = 0; index < count; index += 1) ids.push(await post(service, { title: 'Right' }));
  assert.equal(await service.stop(), 0);
  return ids;
}

async function send(
  service: Service,
  method: string,
  path: string,
  text: string,
): Promise<{ id: string; sha256: string }> {
  const form = new FormData();
  form.set('file', new Blob([text]), 'note.txt');
  const url = `${service.url}/api/collections/media${path}`;
  const answer = await fetch(url, { method, headers: { 'x-api-key': apiKey }, body: form });
  assert.ok(answer.ok, `${answer.status}`);
  const { id } = (await answer.json()) as { id: string };
  return { id, sha256: createHash('sha256').update(text).digest('hex') };
}

/** Three files, of which the second version of one is gone. */
const lostFile: Scene = async (t, place) => {
  const service = await start(t, place);
  await send(service, 'POST', '', 'a');
  const { id } = await send(service, 'POST', '', 'b');
  const { sha256 } = await send(service, 'PATCH', `/${id}`, 'c');
  rmSync(join(place.data, 'blobs', sha256.slice(0, 2), sha256));
  return {};
};

/** A change of a database by someone who knows SQLite: behind the triggers that forbid it. */
function alter(path: string, sql: string): void {
  const db = new Database(path);
  const triggers = db
    .prepare<[], { name: string; sql: string }>("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    .all();
  for (const { name } of triggers) db.exec(`DROP TRIGGER "${name}"`);
  assert.equal(db.prepare(sql).run().changes, 1);
  for (const trigger of triggers) db.exec(trigger.sql);
  db.close();
}

const day = (offset: number) => new Date(Date.now() + offset * 24 * 3600 * 1000).toISOString().slice(0, 10);

/** Checkpoints are signed in time, so a slow machine may have one more. */
const withoutSignatures = (text: string) =>
  text.replace(/^note: the log is the one of .*\n/gm, '').replace(/; .* are signed by .*$/gm, '');

/** The scenes of the blocks, by page and first command. */
export const scenes: Record<string, Scene> = {
  'docs/operations.md: annals serve': async (t, place) => {
    const [id = ''] = await recorded(t, place);
    writeAhead(place.data, config, id, 7300 * 24 * 3600 * 1000);
    return { rewrite: (command) => command.replace(/--today \S+/, `--today ${day(0)}`), shown: withoutSignatures };
  },
  'docs/operations.md: annals reload --data /var/lib/annals': async (t, place) => {
    await start(t, place);
    const printed = join(place.folder, 'printed.txt');
    return {
      rewrite: (command) => `${command.replace('/var/lib/annals', place.data)} > ${printed}`,
      after: () => assert.match(readFileSync(printed, 'utf8'), /^reloaded/),
    };
  },
  "docs/operations.md: annals api-keys create --name 'The web server' --scope read:posts,globals/site --expires 2027-01-31T00:00:00Z":
    async (t, place) => {
      const service = await start(t, place);
      let made = '';
      const look = async () => {
        const { body } = await service.call('GET', '/api/keys');
        made = body.docs[0].id;
      };
      return {
        before: {
          'annals api-keys rotate 9dd21b1a1855a9cd --overlap 3600': look,
          'annals api-keys revoke 9dd21b1a1855a9cd': look,
        },
        rewrite: (command) => {
          const inAYear = new Date(Date.now() + 365 * 24 * 3600 * 1000).toISOString();
          return command.replace('2027-01-31T00:00:00Z', inAYear).replace('9dd21b1a1855a9cd', made);
        },
        shown: (text) => text.replace(/annals_\S+/g, 'SECRET'),
      };
    },
  'docs/operations.md: annals backup --out b.annals              # one file, also while the service runs': async (
    t,
    place,
  ) => {
    await post(await start(t, place), { title: 'One' });
    return { after: () => assert.ok(existsSync(join(place.folder, 'new', 'log.db'))) };
  },
  'docs/operations.md: mv data/segments /mnt/history/segments && ln -s /mnt/history/segments data/segments': async (
    t,
    place,
  ) => {
    await recorded(t, place);
    // A site of few events has no segments yet.
    const history = join(place.folder, 'history');
    for (const folder of [join(place.data, 'segments'), history]) mkdirSync(folder, { recursive: true });
    return {
      rewrite: (command) => command.replaceAll('/mnt/history', history),
      after: async () => {
        await recorded(t, place);
        for (const name of ['segments', 'backup'])
          assert.equal(realpathSync(join(place.data, name)), realpathSync(join(history, name)));
      },
    };
  },
  'docs/operations.md: mv data data-new': async (t, place) => {
    const [id] = await recorded(t, place);
    // As a start on a log of an older format leaves it: a data directory.
    const saved = join(place.data, 'before-upgrade-format-3-events-1028-0a1b2c3d');
    cpSync(place.data, `${place.data}-saved`, { recursive: true });
    cpSync(`${place.data}-saved`, saved, { recursive: true });
    const later = await recorded(t, place);
    return {
      after: async () => {
        const service = await start(t, place);
        const there = async (one = '') => (await service.call('GET', `/api/collections/posts/${one}`)).status;
        assert.deepEqual([await there(id), await there(later[0])], [200, 404]);
      },
    };
  },
  "docs/operations.md: annals rebuild --accept-foreign-writes --reason 'the disk of vault.db failed, no backup of it'":
    async (t, place) => {
      await recorded(t, place);
      for (const name of readdirSync(place.data)) if (name.startsWith('vault.db')) rmSync(join(place.data, name));
      return {};
    },
  'docs/operations.md: annals blobs gc --dry-run': async (t, place) => {
    await send(await start(t, place), 'POST', '', 'a');
    const text = 'of an upload that was interrupted';
    const sha256 = createHash('sha256').update(text).digest('hex');
    mkdirSync(join(place.data, 'blobs', sha256.slice(0, 2)), { recursive: true });
    writeFileSync(join(place.data, 'blobs', sha256.slice(0, 2), sha256), text);
    return {};
  },
  'docs/operations.md: annals blobs verify': lostFile,
  "docs/operations.md: annals blobs verify --record --reason 'the disk failed on 3 March'": lostFile,
  "docs/operations.md: annals signing-key rotate --reason 'the yearly rotation'": async (t, place) => {
    await recorded(t, place);
    return {};
  },
  "docs/operations.md: annals signing-key replace --reason 'a backup of the vault was stolen'": async (t, place) => {
    await recorded(t, place);
    return { before: { 'annals signing-key history': () => recorded(t, place) } };
  },
  'docs/operations.md: npm run annals -- verify': async (t, place) => {
    await recorded(t, place);
    await recorded(t, place);
    const environment = { ...place.environment };
    const altered = (name: string, file: (data: string) => string, sql: string) => {
      environment.ANNALS_DATA = join(place.folder, name);
      cpSync(place.data, environment.ANNALS_DATA, { recursive: true });
      alter(join(environment.ANNALS_DATA, file(environment.ANNALS_DATA)), sql);
    };
    const readFile = (data: string) => readdirSync(data).find((name) => /^read-[0-9a-f]+\.db$/.test(name)) ?? '';
    const next = [
      () => {},
      async () => {
        const service = await start(t, place);
        await post(service, { title: 'Right' });
        await service.kill();
      },
      () =>
        altered(
          'payload',
          () => 'log.db',
          "UPDATE payloads SET body = replace(body, 'Right', 'Wrong') WHERE position = 3",
        ),
      () =>
        altered(
          'row',
          readFile,
          `UPDATE "documents posts" SET version = 7 WHERE key = (SELECT min(key) FROM "documents posts")`,
        ),
    ];
    return { environment, before: { 'npm run annals -- verify': () => next.shift()?.() } };
  },
  'docs/operations.md: annals doctor': async (t, place) => {
    const service = await start(t, place);
    await post(service, { title: 'One' });
    // The findings are those of this machine.
    return {
      shown: (text) => text.replace(/^(ok|note|trouble) (base URL|disk room|file \w+|open files|\w+) .*$/gm, '$2'),
    };
  },
  'docs/operations.md: npm run annals -- history posts/01a201e9-21a7-7000-9d52-45d95fff120f': async (t, place) => {
    const service = await start(t, place);
    const id = await post(service, { title: 'One', status: 'draft' });
    const headers = { 'x-change-reason': 'signed off by Ada' };
    await service.call('PATCH', `/api/collections/posts/${id}`, { status: 'published' }, { headers });
    return { rewrite: (command) => command.replace(/posts\/\S+/, `posts/${id}`) };
  },
  "docs/operations.md: npm run annals -- export --from 2026-11-01 --to 2026-11-22 --reason 'the audit of 2026' --out november.zip":
    async (t, place) => {
      const service = await start(t, place);
      const id = await post(service, { title: 'One' });
      const rewrite = (command: string) =>
        command
          .replace('2026-11-22', day(0))
          .replace('2026-11-01', day(-1))
          .replace(/posts\/\S+/, `posts/${id}`);
      return { rewrite };
    },
  'docs/operations.md: annals create-user users --email ada@example.org --field name=Ada --field \'tags=["staff"]\'':
    async (t, place) => {
      const service = await start(t, place);
      const login = (password: string) =>
        service.call('POST', '/api/collections/users/login', { email: 'ada@example.org', password }, { key: null });
      return {
        input: 'correct horse\n',
        // A terminal shows this while the password is typed.
        shown: (text) => text.replaceAll('Password:\nRepeat the password:\n', ''),
        before: {
          'annals unlock users --email ada@example.org': async () => {
            for (let count = 0; count < 2; count += 1) await login('wrong');
            // Locked.
            assert.equal((await login('correct horse')).status, 429);
          },
          'annals sessions revoke users --email ada@example.org': async () => {
            for (let count = 0; count < 2; count += 1) assert.equal((await login('correct horse')).status, 200);
          },
        },
      };
    },
  'docs/backup.md: annals backup --out b.annals': async (t, place) => {
    await post(await start(t, place), { title: 'One' });
    return { shown: withoutSignatures };
  },
  'docs/backup.md: annals backup --to /mnt/backups/annals --every 1h --keep 24h,7d,8w': async (t, place) => {
    await post(await start(t, place), { title: 'One' });
    const series = join(place.folder, 'backups');
    return {
      rewrite: (command) => `timeout 15 ${command.replace('/mnt/backups/annals', series)}`,
      after: () => assert.match(readdirSync(series).join(), /\d+T\d+Z-\d{10}\.annals/),
    };
  },
  'docs/backup.md: age -d -i key.txt b.annals.age > b.annals    # an encrypted one': async (t, place) => {
    const service = await start(t, place);
    const { sha256 } = await send(service, 'POST', '', 'a');
    const command = 'mkdir data && tar -xf b.annals -C data && (cd data && sha256sum -c --quiet SHA256SUMS)';
    return {
      // Into another folder than that of the service.
      rewrite: () => `annals backup --out b.annals && mkdir opened && cd opened && mv ../b.annals . && ${command}`,
      after: () =>
        assert.equal(readFileSync(join(place.folder, 'opened/data/blobs', sha256.slice(0, 2), sha256), 'utf8'), 'a'),
    };
  },
};
