import assert from 'node:assert/strict';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { readLog } from '../../../events/log/log-reader.ts';
import { openDatabase } from '../../../storage/sqlite.ts';
import { anonymous, bearer, type LoggedIn, loggedIn, login } from '../../helpers/accounts.ts';
import { upload } from '../../helpers/downloads.ts';
import { useServiceHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { remainsIn } from '../../helpers/leftovers.ts';
import { assertRecorded } from '../../helpers/recorded.ts';
import { type Answer, apiKey, writeConfig } from '../../helpers/service.ts';
import { errorsOf, eventually, fieldsOf, logLines, recordedEvents, useFolder } from '../../helpers/shared.ts';

const config = {
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    { slug: 'users', auth: { useAPIKey: true }, fields: [{ name: 'name', type: 'text', index: true }] },
    { slug: 'staff', auth: true, fields: [] },
    {
      slug: 'posts',
      admin: { searchFields: ['title', 'body'] },
      fields: [
        { name: 'title', type: 'text', unique: true, index: true },
        { name: 'body', type: 'textarea' },
        { name: 'related', type: 'relationship', relationTo: 'posts', hasMany: true },
      ],
    },
    { slug: 'files', upload: true, fields: [{ name: 'alt', type: 'text' }] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'motto', type: 'text' }] }],
  // Deliveries to this address wait for ever: nothing listens there.
  webhooks: [
    {
      name: 'front',
      url: 'http://127.0.0.1:9/',
      secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
      collections: ['users'],
      allowPrivate: true,
    },
  ],
};

const service = useServiceHere(config);
const configFile = writeConfig(useFolder(), config);
const path = '/api/audit/erasures';
const reason = 'asked for on paper';

let admin: LoggedIn;
let staff: LoggedIn;

before(async () => {
  await service.call('POST', '/api/collections/users', { email: 'root@example.org', password: 'correct horse' });
  admin = await loggedIn(service, 'users', 'root@example.org', 'correct horse');
  // A key may not make it; a user of the admin collection may.
  await made('staff', { email: 'staff@example.org', password: 'correct horse' }, admin.as);
  staff = await loggedIn(service, 'staff', 'staff@example.org', 'correct horse');
});

async function made(slug: string, body: object, as = {}): Promise<string> {
  const answer = await service.call('POST', `/api/collections/${slug}`, body, as);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id;
}

function erase(collection: string, id: string, as = {}, query = ''): Promise<Answer> {
  return service.call('POST', path + query, { collection, id, reason }, as);
}

/** The log up to a position: no erasure may change it. */
function headAt(size?: number): { size: number; root: string } {
  const db = openDatabase(join(service.data, 'log.db'), { readonly: true });
  try {
    const log = readLog(db);
    const at = size ?? log.head().size;
    return { size: at, root: log.rootAt(at).toString('hex') };
  } finally {
    db.close();
  }
}

async function verified(): Promise<void> {
  const { code, stdout } = await runHere(['verify', '--data', service.data]);
  assert.equal(code, 0, stdout);
}

async function caught(to: string, kind: string): Promise<string> {
  const found = new RegExp(`^mail caught: ${kind} to ${to}: (\\S+)$`);
  const line = await eventually(() => logLines(service).find(({ msg }) => found.test(msg)));
  return found.exec(line.msg)?.[1] as string;
}

describe('An erasure', () => {
  it('leaves no byte of a person in any file, and every proof as it was', async () => {
    const [email, other] = ['quokka-7341@example.org', 'wombat-9902@example.org'];
    const names = ['Numbat-One', 'Numbat-Two', 'Numbat-Three', 'Numbat-Draft', 'Numbat-Taste'];
    const texts = [email, other, ...names, 'Bilby-Agent', 'Bilby-Again'];
    const agent = { headers: { 'user-agent': 'Bilby-Agent' } };
    const invited = await service.call('POST', '/api/collections/users/invite', { email }, admin.as);
    assert.equal(invited.status, 200);
    const page = await caught(email, 'invitation');
    const token = /[?&;]token=([\w-]+)/.exec(await (await fetch(page)).text())?.[1];
    const body = { token, password: 'correct horse', name: 'Numbat-One' };
    const accepted = await service.call('POST', '/api/collections/users/accept-invite', body, {
      ...anonymous,
      ...agent,
    });
    assert.equal(accepted.status, 201, JSON.stringify(accepted.body));
    const { id } = accepted.body.user;
    const own = { key: null, headers: { ...agent.headers, ...bearer(accepted.body.token).headers } };
    for (const name of ['Numbat-Two', 'Numbat-Three']) {
      assert.equal((await service.call('PATCH', `/api/collections/users/${id}`, { name }, own)).status, 200);
    }
    const draft = { data: { motto: 'Numbat-Draft' }, version: null };
    assert.equal((await service.call('PUT', '/api/drafts/globals/site', draft, own)).status, 200);
    assert.equal((await service.call('PATCH', '/api/preferences', { theme: 'Numbat-Taste' }, own)).status, 200);
    assert.equal((await login(service, 'users', email, 'wrong')).status, 401);
    await service.call('PATCH', `/api/collections/users/${id}`, { email: other });
    // To the former address: no account has it now.
    await service.call('POST', '/api/collections/users/invite', { email }, admin.as);
    await service.call('POST', '/api/collections/users/forgot-password', { email: other }, anonymous);
    const reset = await caught(other, 'passwordReset');
    assert.equal((await fetch(reset)).status, 200);
    await eventually(() =>
      recordedEvents(service.data, `accounts/users/${id}`).some(({ type }) => type === 'email.sent'),
    );

    const head = headAt();
    assert.ok(remainsIn(service.data, texts).length >= 6, 'they are there before');
    assert.notDeepEqual(remainsIn(service.data, ['Numbat-Draft']), []);
    assert.notDeepEqual(remainsIn(service.data, ['Numbat-Taste']), []);
    const deliveries = async () => {
      const { docs } = (await service.call('GET', '/api/webhooks/front/deliveries?limit=100')).body;
      return docs.filter(({ data }: { data: { id: string } }) => data.id === id);
    };
    let waiting = await deliveries();
    while (waiting.length < 4) waiting = await deliveries();
    const preview = await assertRecorded(service, () => erase('users', id, {}, '?dryRun=true'), []);
    assert.equal(preview.status, 200);
    const { erases } = preview.body;
    assert.deepEqual([erases.versions, erases.invitations], [4, 2]);
    assert.ok(erases.accountEvents >= 4 && erases.mails >= 3, JSON.stringify(erases));

    const erased = await assertRecorded(
      service,
      () => erase('users', id),
      (answer) => [{ type: 'document.erased', stream: `users/${id}`, position: answer.body.position }],
    );
    assert.deepEqual([erased.status, erased.body.finished], [201, true], JSON.stringify(erased.body));
    assert.deepEqual(remainsIn(service.data, texts), []);
    // Deliveries hold ids and positions only, and are still made.
    const types = (await deliveries()).map(({ type }: { type: string }) => type);
    assert.deepEqual(
      types.slice(0, waiting.length),
      waiting.map(({ type }: { type: string }) => type),
    );
    assert.equal((await fetch(reset)).status, 404);
    assert.equal((await fetch(page)).status, 404);
    assert.equal((await service.call('GET', '/api/collections/users/me', undefined, own)).status, 401);
    assert.equal((await login(service, 'users', other, 'correct horse')).status, 401);
    assert.equal((await service.call('GET', `/api/collections/users/${id}`)).status, 404);
    assert.deepEqual(headAt(head.size), head);
    await verified();

    assert.equal(recordedEvents(service.data, `users/${id}`).at(-1)?.version, 5);
    const told = await service.call('GET', `${path}/${erased.body.position}`);
    assert.deepEqual([told.body.reason, told.body.finished, told.body.waitsFor], [reason, true, null]);
    assert.equal(erased.headers.get('location'), `${path}/${erased.body.position}`);
    // The address is free, and its new owner is somebody else.
    await made('users', { email: other });
  });

  it('takes what is living, changed, deleted or was in a relation, and leaves others as they are', async () => {
    const words = Array.from({ length: 30 }, (_, index) => `Potoroo-${index}x`);
    const ids: string[] = [];
    for (const word of words)
      ids.push(await made('posts', { title: word, body: word.repeat(1 + 2 * (ids.length % 20)) }));
    const [first = '', second = '', kept = ''] = ids;
    for (const [index, id] of ids.entries()) {
      const related = index % 3 === 0 ? [kept] : [];
      const title = `Bettong-${words[index]}`;
      await service.call('PATCH', `/api/collections/posts/${id}`, { title, body: words[index]?.repeat(50), related });
    }
    await service.call('PATCH', `/api/collections/posts/${kept}`, { related: [first, second] });
    await service.call('DELETE', `/api/collections/posts/${second}`);
    const head = headAt();
    const erased = await Promise.all(ids.filter((id) => id !== kept).map((id) => erase('posts', id)));
    assert.deepEqual([...new Set(erased.map(({ status, body }) => `${status} ${body.finished}`))], ['201 true']);
    await settled();
    assert.deepEqual(
      remainsIn(
        service.data,
        words.filter((_, index) => index !== 2),
      ),
      [],
    );
    assert.notDeepEqual(remainsIn(service.data, ['Potoroo-2x']), []);
    const { body } = await service.call('GET', `/api/collections/posts/${kept}`);
    assert.deepEqual([body.title, body.related], ['Bettong-Potoroo-2x', [first, second]]);
    assert.equal((await service.call('GET', '/api/collections/posts')).body.total, 1);
    // A unique value that was given up long before is free, as it was.
    await made('posts', { title: 'Bettong-Potoroo-0x' });
    assert.deepEqual(headAt(head.size), head);
    await verified();
  });

  it('takes stored files that nothing else names, and says which stay', async () => {
    const [alone, shared] = ['Dunnart alone in its file', 'Dunnart shared by two'];
    const { id } = await upload(service, 'files', alone, 'a.txt', 'Dunnart-Alt');
    const form = new FormData();
    form.set('file', new Blob([shared]), 'b.txt');
    const headers = { 'x-api-key': apiKey };
    await fetch(`${service.url}/api/collections/files/${id}`, { method: 'PATCH', headers, body: form });
    const twin = await upload(service, 'files', shared, 'c.txt');
    const { status, body } = await erase('files', id);
    assert.equal(status, 201);
    assert.deepEqual(body.erases, { versions: 2, accountEvents: 0, invitations: 0, files: 1, filesKept: 1, mails: 0 });
    assert.deepEqual(remainsIn(service.data, [alone, 'Dunnart-Alt']), []);
    const answer = await fetch(service.url + twin.url, { headers });
    assert.equal(await answer.text(), shared);
    assert.equal((await erase('files', twin.id)).body.erases.files, 1);
    assert.deepEqual(remainsIn(service.data, [shared]), []);
  });

  it('goes on until the store of files answers', async () => {
    const { id, sha256 } = await upload(service, 'files', 'Mulgara in its file', 'm.txt', 'Mulgara-Alt');
    const shard = join(service.data, 'blobs', sha256.slice(0, 2));
    renameSync(shard, `${shard}.away`);
    writeFileSync(shard, 'no folder');
    const erased = erase('files', id);
    await eventually(() =>
      logLines(service).some(({ msg }) =>
        /^the erasure at position \d+ is not finished: the disk refuses it/.test(msg),
      ),
    );
    const { body } = await service.call('GET', `${path}?limit=1`);
    const { id: open, waitsFor, obstacle } = body.docs[0];
    assert.deepEqual([open, waitsFor, obstacle], [id, 'store', 'the store of files cannot be used']);
    // The contents of the data files go all the same.
    await eventually(() => remainsIn(service.data, ['Mulgara-Alt', 'm.txt']).length === 0);
    rmSync(shard);
    renameSync(`${shard}.away`, shard);
    assert.equal((await erased).body.finished, true);
    assert.deepEqual(remainsIn(service.data, ['Mulgara', sha256]), []);
  });

  it('is done once, also of what came after; what never was is not there', async () => {
    const id = await made('posts', { title: 'once' });
    const race = () => Promise.all(Array.from({ length: 4 }, () => erase('posts', id)));
    const all = await assertRecorded(service, race, [`document.erased posts/${id}`]);
    assert.deepEqual(all.map(({ status }) => status).sort(), [201, 409, 409, 409]);
    const again = await erase('posts', id, {}, '?dryRun=true');
    assert.match(again.body.message, /was erased already/);
    assert.equal(again.body.code, 'erased');
    assert.equal((await erase('posts', 'unknown')).status, 404);
    const unknown = await erase('psts', id);
    assert.deepEqual([unknown.status, /did you mean "posts"/.test(unknown.body.message)], [404, true]);
  });

  it('and writes to the same document are one after the other', async () => {
    const id = await made('posts', { title: 'contested' });
    const writes = Array.from({ length: 12 }, (_, index) =>
      service.call('PATCH', `/api/collections/posts/${id}`, { body: `Kowari-${index}` }),
    );
    const erased = await erase('posts', id);
    const statuses = new Set((await Promise.all(writes)).map(({ status }) => status));
    assert.ok([201, 202].includes(erased.status));
    assert.deepEqual([...statuses.difference(new Set([200, 404]))], []);
    assert.equal(recordedEvents(service.data, `posts/${id}`).at(-1)?.type, 'document.erased');
    await settled();
    assert.deepEqual(remainsIn(service.data, ['Kowari-']), []);
    await verified();
  });

  it('leaves nothing of files that were on their way to the document', async () => {
    const send = (method: string, at: string, text: string) => {
      const form = new FormData();
      form.set('file', new Blob([`bytes of ${text}`]), 'a.txt');
      return fetch(service.url + at, { method, body: form, headers: { 'x-api-key': apiKey } });
    };
    for (const round of [1, 2, 3]) {
      const { id } = (await (await send('POST', '/api/collections/files', `Mulgara-${round}`)).json()) as {
        id: string;
      };
      const files = Array.from({ length: 8 }, (_, index) =>
        send('PATCH', `/api/collections/files/${id}`, `Mulgara-${round}-${index}`),
      );
      await Promise.race(files);
      assert.ok((await erase('files', id)).status < 300);
      await Promise.all(files);
    }
    await settled();
    await eventually(() => remainsIn(service.data, ['Mulgara-']).length === 0);
  });

  it('is for the operator, API keys if accounts are open to them, and users of the admin collection', async () => {
    const id = await made('posts', { title: 'guarded' });
    const statuses = async (collection: string, document: string, callers: object[]) =>
      Promise.all(callers.map(async (as) => (await erase(collection, document, as, '?dryRun=true')).status));
    const callers = [anonymous, staff.as, admin.as, {}];
    assert.deepEqual(await statuses('posts', id, callers), [401, 403, 200, 200]);
    assert.deepEqual(await statuses('users', admin.id, callers), [401, 403, 200, 200]);
    assert.deepEqual(await statuses('staff', staff.id, callers), [401, 403, 200, 403]);
    // A caller without the right learns nothing.
    assert.deepEqual(await statuses('posts', 'unknown', callers), [401, 403, 404, 404]);
    const list = await Promise.all(
      [anonymous, staff.as, admin.as].map((as) => service.call('GET', path, undefined, as)),
    );
    assert.deepEqual(
      list.map(({ status }) => status),
      [401, 403, 200],
    );
  });

  it('refuses a body or a query that is not right, naming each', async () => {
    const post = (body: unknown, query = '') => service.call('POST', path + query, body);
    const id = await made('posts', { title: 'bodies' });
    const right = { collection: 'posts', id, reason };
    assert.deepEqual(fieldsOf(await post({})).sort(), ['collection', 'id', 'reason']);
    for (const wrong of ['', '  ', 'x'.repeat(501), 7, null, '\ud800']) {
      const answer = await post({ ...right, reason: wrong });
      assert.deepEqual([answer.status, fieldsOf(answer)], [400, ['reason']], JSON.stringify(wrong));
    }
    assert.match(errorsOf(await post({ ...right, reasn: 'x' })).reasn ?? '', /did you mean "reason"/);
    const wrongs: [string, string][] = [
      ['accounts/users', admin.id],
      ['accounts', `users/${admin.id}`],
      ['globals', 'site'],
      ['system', 'schema'],
      ['posts/', id],
    ];
    for (const [collection, wrong] of wrongs) {
      const answer = await post({ collection, id: wrong, reason });
      assert.deepEqual([answer.status, fieldsOf(answer)], [400, ['collection']], collection);
    }
    assert.equal((await post({ ...right, id: `${id}/` })).status, 404);
    for (const [name, value] of [
      ['if-match', '"1-x"'],
      ['if-none-match', '*'],
    ] as const) {
      const answer = await service.call('POST', path, right, { headers: { [name]: value } });
      assert.deepEqual([answer.status, fieldsOf(answer)], [400, [name]]);
    }
    assert.deepEqual(fieldsOf(await post(right, '?dryRun=1')), ['dryRun']);
    assert.match((await post({ ...right, dryRun: true })).body.message, /: \?dryRun=true$/);
    assert.deepEqual(fieldsOf(await post(right, '?dryrun=true')), ['dryrun']);
    assert.equal((await service.call('GET', `${path}?before=5`)).body.message, 'before is called next');
    assert.deepEqual(fieldsOf(await service.call('GET', `${path}?next=x&limit=0&page=1`)).sort(), [
      'limit',
      'next',
      'page',
    ]);
    for (const wrong of ['x', '0', '1', '1e3', '99999999999999999999']) {
      assert.equal((await service.call('GET', `${path}/${wrong}`)).status, 404, wrong);
    }
    assert.equal((await service.call('GET', `/api/collections/posts/${id}`)).status, 200);
  });

  it('is told by a command, which says before what would go', async () => {
    const id = await made('posts', { title: 'Antechinus' });
    const settings = ['--config', configFile, '--data', service.data];
    const preview = await runHere(['erase', `posts/${id}`, '--reason', reason, '--dry-run', ...settings]);
    assert.deepEqual([preview.code, preview.stdout], [0, `would erase posts/${id}: 1 version\n`]);
    const done = await runHere(['erase', `posts/${id}`, '--reason', reason, ...settings]);
    assert.match(done.stdout, new RegExp(`^erased posts/${id}: 1 version; it is event \\d+\\n$`));
    assert.deepEqual(remainsIn(service.data, ['Antechinus']), []);
    const again = await runHere(['erase', `posts/${id}`, '--reason', reason, ...settings]);
    assert.deepEqual([again.code, /was erased already/.test(again.stderr)], [1, true]);
    const usage = async (...args: string[]) => (await runHere(['erase', ...args, ...settings])).stderr;
    assert.match(await usage(`posts/${id}`), /--reason is missing/);
    assert.match(await usage('posts', '--reason', 'x'), /COLLECTION\/ID must be like/);
    const { body } = await service.call('GET', `${path}?limit=1`);
    assert.deepEqual([body.docs[0].id, body.docs[0].actor, body.docs[0].reason], [id, { type: 'system' }, reason]);
    assert.ok((await service.call('GET', `${path}?limit=1&next=${body.next}`)).body.docs[0].position < body.next);
  });

  it('is finished when the last reader from before has gone', async () => {
    const id = await made('posts', { title: 'Thylacine' });
    const reader = openDatabase(join(service.data, 'log.db'), { readonly: true });
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM payloads').get();
    let isOver = false;
    const erased = erase('posts', id).finally(() => {
      isOver = true;
    });
    await eventually(() => logLines(service).some(({ msg }) => /a reader still uses an older snapshot/.test(msg)));
    const { body } = await service.call('GET', `${path}?limit=1`);
    assert.deepEqual([isOver, body.docs[0].finished, body.docs[0].waitsFor], [false, false, 'data']);
    assert.equal((await service.call('GET', `/api/collections/posts/${id}`)).status, 404);
    reader.close();
    assert.equal((await erased).body.finished, true);
    assert.deepEqual(remainsIn(service.data, ['Thylacine']), []);
  });
});

async function settled(): Promise<void> {
  for (;;) {
    const { body } = await service.call('GET', `${path}?limit=100`);
    if (body.docs.every(({ finished }: { finished: boolean }) => finished)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
