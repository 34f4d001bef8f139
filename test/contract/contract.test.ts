import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { errorCodes } from '../../config/error-codes.ts';
import { fieldErrorCodes } from '../../config/field-error-codes.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { described, inlined, type OpenApi, operationsOf, schemasIn } from '../helpers/contract.ts';
import { useSmallDisk } from '../helpers/disk.ts';
import { entriesMetElsewhere, metElsewhere } from '../helpers/error-codes.ts';
import { useMailbox } from '../helpers/mail.ts';
import type { Answer } from '../helpers/service.ts';
import { eventually, useFolder, useService } from '../helpers/shared.ts';
import { provoke } from './answers.ts';
import { type Operation, operationOf, rightCall, vary } from './calls.ts';
import { assertAllRecorded, type Records } from './recorded.ts';
import { pairsOf, type Request, requestsFor } from './requests.ts';
import { damage, expectAll, fill, holdSearch, overtake, type Prepared, prepare, stall } from './trouble.ts';
import { inJson } from './values.ts';
import { createWorld, fresh, type World } from './world.ts';

const mailbox = await useMailbox();
const receiver = createServer((_, response) => response.writeHead(204).end()).listen(0, '127.0.0.1');
await once(receiver, 'listening');
after(() => receiver.close());
/** Requests for each operation; more of them find more, and need more room. */
const runs = Number(process.env.TEST_RUNS ?? 3);
/** Behind a balancer there is no file of the one process to fill, hold or damage; see nodes.long.test.ts. */
const ofOneProcess = process.env.TEST_NODES === undefined ? {} : { skip: 'the service has several nodes' };
const disk =
  runs > 60 || ofOneProcess.skip
    ? ({ folder: '', skip: ofOneProcess.skip ?? 'many requests need more room' } as const)
    : useSmallDisk(128 * 1024 * 1024);
/** No read is so slow here that it would be listed. */
const listed = ['number', null].map((field) => {
  const collection = field === null ? 'near' : 'things';
  return { collection, field, reads: 2, slowest: 30, lastAt: new Date().toISOString() };
});
const data = join(disk.skip ? useFolder() : disk.folder, 'data');
if (!ofOneProcess.skip) {
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(join(data, 'missing-indexes.json'), JSON.stringify(listed));
}
const service = useService(
  `export { default, seed } from ${JSON.stringify(new URL('./rich.ts', import.meta.url))};`,
  {
    ANNALS_SMTP_URL: mailbox.url,
    ANNALS_MAIL_FROM: 'annals@example.org',
    ANNALS_THREADS: '1',
    // For half a minute nothing is done but that.
    ANNALS_VERIFY_PERCENT: '0',
    RECEIVER: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
  },
  ...(ofOneProcess.skip ? [] : [data]),
);

/** The rules of a value that a schema does not state. */
const excuses = new RegExp(
  [
    'must be the id of a document of',
    'must be an e-mail address',
    'must be an absolute http or https URL',
    'must be a date and time with a zone',
    'must not hold NUL characters or lone surrogates',
    'must not hold the key "__proto__"',
    'must be nested at most 100 levels deep',
  ].join('|'),
);

/** Answers that take trouble to come about, each of a kind, and have a test of their own. */
const ofTrouble = / (408|500|503)$|first-user (201|default)$/;

/** The events of a successful call of each kind of operation; see {@link assertAllRecorded}. */
const recorded: Records['succeeds'] = {
  create: ['document.created', 'document.created password.changed'],
  createMany: ['document.created document.created', ...sequencesOf(['document.created', 'document.updated'], 4)],
  updateMany: ['document.updated document.updated', 'document.updated', ''],
  deleteMany: ['document.deleted document.deleted', 'document.deleted', ''],
  undoBatch: ['document.deleted document.deleted', ''],
  update: ['document.updated', 'document.updated password.changed', 'password.changed', ''],
  delete: ['document.deleted'],
  restore: ['document.restored', ''],
  updateGlobal: ['global.updated', ''],
  restoreGlobal: ['global.restored', ''],
  login: ['login.succeeded session.started'],
  logout: ['session.revoked'],
  refreshToken: ['session.refreshed'],
  endOwnSession: ['session.revoked'],
  unlock: ['account.unlocked', ''],
  endSession: ['session.revoked'],
  invite: ['invite.created'],
  withdrawInvitation: ['invite.withdrawn'],
  acceptInvite: ['document.created invite.accepted password.changed session.started'],
  createFirstUser: ['document.created setup.completed password.changed session.started'],
  forgotPassword: ['password.reset.requested', ''],
  resetPassword: ['password.changed'],
  createPreviewToken: [''],
  updatePreferences: [''],
  keepDraft: [''],
  dropDraft: [''],
  keepDraftOfGlobal: [''],
  dropDraftOfGlobal: [''],
  createKey: ['apikey.created'],
  rotateKey: ['apikey.rotated'],
  revokeKey: ['apikey.revoked'],
  retryDelivery: [''],
  retryDeliveries: [''],
};
/** All sequences of these types, up to a length. */
function sequencesOf(types: readonly string[], most: number): string[] {
  if (most === 0) return [''];
  const shorter = sequencesOf(types, most - 1);
  return [...new Set([...shorter, ...shorter.flatMap((one) => types.map((type) => `${one} ${type}`.trim()))])];
}

/** The events of a refused call: a failed login, and a write of `members` that its read hook refuses to show. */
function recordedByRefusal({ kind, slug }: Operation, status: number): readonly string[] {
  if (slug === 'members' && status === 418) return ['', ...(recorded[kind] ?? [])];
  return kind === 'login' ? ['', 'login.failed', 'login.failed account.locked'] : [''];
}

describe('The contract (1)', () => {
  let world: World;
  let operations: Operation[];
  /** The operations that have an answer of this status that has not been met yet. */
  function lacking(status: string): Operation[] {
    const unmet = new Set(world.contract.unmet());
    return operations.filter(({ name }) => unmet.has(`${name} ${status}`));
  }
  let stalled: () => Promise<() => void>;

  before(async () => {
    const setupToken = await eventually(() => /setup\?token=([\w-]+)/.exec(service.output().stdout)?.[1]);
    world = await createWorld(service, mailbox, setupToken, async ({ send }, first) => {
      const operation = 'POST /api/collections/users/first-user';
      assert.equal((await send(operation, { ...first(), headers: { 'x-refuse': '418' } })).status, 418);
      if (disk.skip) return;
      const makeRoom = await fill({ send }, disk.folder);
      assert.equal((await send(operation, first())).status, 503);
      await makeRoom();
    });
    const early = JSON.parse(/^\/ready (.*)$/m.exec(service.output().stdout)?.[1] ?? '');
    world.contract.check('GET /ready', { ...early, headers: new Headers(early.headers) });
    operations = operationsOf(world.contract.document).map((name) => operationOf(world, name));
    for (const operation of operations.filter(({ kind }) => kind === 'restoreGlobal')) {
      await provoke(world, operation, '409');
    }
    for (const operation of operations.filter(({ kind }) => kind === 'readGlobal')) {
      await world.send(operation.name, await rightCall(world, operation));
    }
    for (const operation of operations.filter(({ kind }) => kind === 'updateGlobal')) {
      const { path } = await rightCall(world, operation);
      assert.equal((await world.send(operation.name, { path, body: {} })).status, 200);
      await provoke(world, operation, '200');
    }
    const slow = await prepare(world, lacking('408'));
    // A caller who has sent three such bodies slowly already waits for one of them.
    const scopes = [{ collections: '*', globals: '*', operations: ['create', 'update', 'delete'] }];
    for (const one of slow.filter(({ name }) => /bulk|undo/.test(name)))
      one.call = {
        ...one.call,
        headers: {},
        key: (await world.madeKey({ scopes, audit: ['headers', 'payloads'] })).secret,
      };
    // Half a minute passes until they are answered.
    stalled = stall(world, slow);
  });

  it('holds for every answer of every operation', async (t) => {
    for (const operation of operations) {
      const statuses = Object.keys(described(world.contract.document, operation.name).responses);
      const isOfAll = (status: string) =>
        !ofTrouble.test(`${operation.name} ${status}`) &&
        (status !== '409' || /^(create|createMany|undoBatch|invite|acceptInvite)$/.test(operation.kind));
      await t.test(operation.name, async () => {
        for (const status of statuses.filter(isOfAll)) await provoke(world, operation, status);
      });
    }
  });

  it('gives examples of parameters that the service takes', async () => {
    for (const operation of operations.filter(({ kind }) => kind === 'list')) {
      const call = await rightCall(world, operation);
      for (const { name, example, examples = {} } of described(world.contract.document, operation.name).parameters) {
        const values = [example, ...Object.values<OpenApi>(examples).map(({ value }) => value)];
        for (const value of values.filter((one) => one !== undefined)) {
          const query = pairsOf(name, value).map((pair) => pair.map(encodeURIComponent).join('='));
          const answer = await world.send(operation.name, vary(call, { query: query.join('&') }));
          assert.equal(answer.status, 200, `${operation.name} ${query}: ${JSON.stringify(answer.body)}`);
        }
      }
    }
  });

  it('holds for whatever is sent', async (t) => {
    const compile = schemasIn(inlined(world.contract.document));
    for (const operation of operations) {
      const { name, kind, slug } = operation;
      const [method = '', path = ''] = name.split(' ');
      const holds = async ({ call, plain }: Request) => {
        // A call that ends sessions must leave the others'.
        const isEnd = /^(logout|endOwnSession)$/.test(kind) && call.headers?.authorization;
        const answer = await world.send(name, isEnd ? vary(call, await world.session(slug)) : call);
        assert.notEqual(answer.status, 500, 'a fault');
        if (plain?.type !== 'application/json') return;
        const taken = compile('paths', path, method.toLowerCase(), 'requestBody', 'content', plain.type, 'schema');
        // The first user must have the token before anything else is checked, and documents must be there before their
        // fields are.
        const refusals = { createFirstUser: [400, 403], updateMany: [400, 404] }[kind] ?? [400];
        if (!taken(JSON.parse(inJson(plain.value))))
          assert.ok(refusals.includes(answer.status), JSON.stringify(answer));
        else if (/^(create|update|updateGlobal)$/.test(kind)) assertExcused(answer);
      };
      await t.test(name, async () => {
        const asked = requestsFor(world, operation, await poolOf(operation));
        await fc.assert(fc.asyncProperty(asked, holds), { numRuns: runs, endOnFailure: true });
      });
    }
  });

  /** Asserts that a body which the document takes is taken, or why not: for what a schema has no words. */
  function assertExcused({ status, body }: Answer): void {
    if (status < 300 || status === 409) return;
    assert.equal(status, 400, JSON.stringify(body));
    const errors = body.errors ?? [body];
    const others = errors.filter(({ message }: { message: string }) => !excuses.test(message));
    assert.deepEqual(others, []);
  }

  async function poolOf({ slug, kind }: Operation): Promise<string[]> {
    if (/^(read|rotate|revoke)Key$/.test(kind)) return [(await world.madeKey()).id];
    if (/Draft$/.test(kind)) return [world.documents.users.id];
    if (!world.documents[slug]) return [];
    return [(await world.create(slug)).id, (await world.create(slug)).id];
  }

  it('holds for what refusals tell of a document', async () => {
    const path = '/api/collections/things';
    const [one, gone] = [await world.create('things'), await world.create('things', { text: 'x' })];
    const at = { path: `${path}/${one.id}` };
    const patch = async (body: object, headers = {}) => world.send(`PATCH ${path}/{id}`, { ...at, body, headers });
    const { headers } = await patch({ others: [gone.id], number: 1 });
    await world.send(`DELETE ${path}/{id}`, { path: `${path}/${gone.id}` });
    // A caller without the audit scopes is told neither its title nor who deleted it.
    const trash = `GET ${path}/trash`;
    const { docs } = (await world.send(trash, vary({ path: `${path}/trash` }, world.member))).body;
    assert.deepEqual([docs[0].title, docs[0].deletedBy], [null, null]);
    for (const [id, asOf, why] of [
      [one.id, '1', 'created'],
      [gone.id, new Date().toISOString(), 'deleted'],
    ]) {
      const absent = await world.send(`GET ${path}/{id}`, { path: `${path}/${id}?asOf=${asOf}` });
      assert.deepEqual([absent.status, Object.keys(absent.body).includes(why)], [404, true], why);
    }
    await patch({ others: [], code: null, number: 2 });
    const stale = await patch({ number: 3 }, { 'if-match': headers.get('etag') });
    assert.equal(stale.status, 412);
    await world.create('things', { text: 'x', code: one.code });
    const back = (query: string, version: number) =>
      world.send(`POST ${path}/{id}/restore`, { path: `${at.path}/restore${query}`, body: { version } });
    assert.equal((await back('?dryRun=true', 2)).status, 200);
    assert.equal((await back('', 1)).status, 409);
  });

  it('holds after a request that was cut off', ofOneProcess, async () => {
    for (const operation of lacking('409').filter(({ kind }) => /^(unlock|createPreviewToken|retry)/.test(kind))) {
      const call = vary(await rightCall(world, operation), { headers: { 'idempotency-key': fresh() } });
      assert.equal((await world.send(operation.name, call)).status, 200, operation.name);
      withDatabase(join(service.data, 'vault.db'), {}, (db) => {
        db.exec('UPDATE replays SET answer = NULL, expires_at = expires_at - 60000');
      });
      const { status, body } = await world.send(operation.name, call);
      assert.deepEqual([status, body.code], [409, 'idempotency_key_in_use'], operation.name);
    }
  });

  it('holds while there is no room on the disk', { skip: disk.skip }, async () => {
    const full = await prepare(
      world,
      lacking('503').filter(({ name }) => !name.startsWith('GET')),
    );
    // These write nothing but what is kept for the key.
    for (const one of full.filter(({ kind }) => kind.startsWith('retry')))
      one.call = vary(one.call, { headers: { 'idempotency-key': fresh() } });
    const makeRoom = await fill(world, disk.folder);
    try {
      await expectAll(world, 503, full);
      assert.equal((await world.send('GET /ready', { path: '/ready', key: null })).status, 503);
    } finally {
      await makeRoom();
    }
  });

  it('holds while the search index is behind the documents', ofOneProcess, async () => {
    const letGo = holdSearch(service.data);
    try {
      await world.create('things');
      const path = '/api/collections/things';
      for (const [name, call] of [
        ['GET /api/search', { path: '/api/search?q=a' }],
        [`GET ${path}`, { path: `${path}?q=a` }],
        [`GET ${path}/count`, { path: `${path}/count?q=a` }],
      ] as const) {
        const { status, body, headers } = await world.send(name, call);
        const told = [status, headers.get('retry-after'), body.message];
        assert.deepEqual(told, [503, '1', 'the search index is behind the documents: try again later'], name);
      }
    } finally {
      letGo();
    }
  });

  describe('with files that are changed beside the service', ofOneProcess, () => {
    let late: Prepared[];
    let reads: Prepared[];
    let broken: Prepared[];

    before(async () => {
      late = await prepare(world, lacking('409'));
      const ofApi = lacking('503').filter(({ name }) => /^GET \/api\//.test(name));
      reads = await prepare(world, ofApi);
      broken = await prepare(world, lacking('500'));
      const position = overtake(service.data);
      reads = reads.map((one) => ({ ...one, call: vary(one.call, { query: `asOf=${position}` }) }));
    });

    it('holds if the log is ahead of what can be read', async () => {
      await Promise.all(reads.map((one) => expectAll(world, 503, [one])));
    });

    it('holds if others always come first', async (t) => {
      for (const one of late) await t.test(one.name, () => expectAll(world, 409, [one]));
    });

    it('holds if the data is damaged', async () => {
      damage(service.data);
      const asUser = broken.map(({ call, ...operation }) => ({
        ...operation,
        call: call.key === null ? call : { ...call, ...world.admin },
      }));
      await expectAll(world, 500, asUser);
    });
  });

  describe('after half a minute', () => {
    let assertRefused: () => void;
    before(async () => {
      assertRefused = await stalled();
    });

    it('holds for bodies that do not come', () => assertRefused());
  });

  it('holds for what is recorded: what each call is to record, and nothing else', () => {
    const rest = assertAllRecorded(service.data, world.contract.document, world.calls, {
      keyOf: (operation) => operationOf(world, operation).kind,
      succeeds: recorded,
      refused: (operation, status) => recordedByRefusal(operationOf(world, operation), status),
      streamOf(operation, type) {
        const { kind, slug } = operationOf(world, operation);
        if (kind === 'undoBatch') return 'hooked/';
        if (type.startsWith('document.')) return `${slug}/`;
        if (type.startsWith('apikey.')) return 'system/api-keys/';
        return type.startsWith('global.') ? `globals/${slug}/` : `accounts/${slug}/`;
      },
    });
    // Events of no call above.
    const others = Map.groupBy(rest, ({ type, correlationId }) => (correlationId === 'rival' ? 'rival' : type));
    const rivals = ofOneProcess.skip ? [] : ['rival'];
    assert.deepEqual([...others.keys()].sort(), ['email.sent', ...rivals, 'schema.changed']);
  });

  it('meets every code of errors, but for those of other tests', { skip: ofOneProcess.skip || disk.skip }, () => {
    const unmet = Object.keys(errorCodes).filter((code) => !world.contract.codes.has(code) && !metElsewhere[code]);
    assert.deepEqual(unmet, []);
    const entries = Object.keys(fieldErrorCodes).filter(
      (code) => !world.contract.entryCodes.has(code) && !entriesMetElsewhere[code],
    );
    assert.deepEqual(entries, []);
  });

  it('names nothing that is not there', ofOneProcess, () => {
    const { unmet, unseen } = world.contract;
    // Without a disk that can be filled, no answer tells of one.
    const isOfDisk = (what: string) => disk.skip && /( 503( |$)|ready.*\/503\/.*\/(reads|writes)$)/.test(what);
    assert.deepEqual(
      unmet().filter((answer) => !isOfDisk(answer)),
      [],
    );
    // A caller whose connection was gone before it was looked at has no address. Nothing here has drafts:
    // test/webhooks/drafts.test.ts, test/audit/undo-drafts.test.ts and test/documents/releases/ meet the others.
    const untold = [/Session\/.*\/ip null$/, /Delivery\/.*\/(cause|release)$/, /Batch\/.*\/(un)?published$/];
    assert.deepEqual(
      unseen().filter((what) => !untold.some((form) => form.test(what)) && !isOfDisk(what)),
      [],
    );
  });
});
