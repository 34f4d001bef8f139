import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { openPostgresVault, type PostgresVault } from '../../../events/postgres/vault/vault.ts';
import { emptyRoot } from '../../../events/proof/merkle.ts';
import { otherCallers } from '../../../events/vault/previews.ts';
import { otherReplays } from '../../../events/vault/replays.ts';
import { openVault } from '../../../events/vault/vault.ts';
import { portOf, type VaultPort } from '../../../events/vault/vault-port.ts';
import { createLockout } from '../../../server/accounts/lockout.ts';
import type { PostgresAddress } from '../../../storage/postgres/connection.ts';
import { category } from '../../helpers/category.ts';
import { describeWithPostgres, type TestDatabase, useDatabase } from '../../helpers/postgres.ts';
import { temporaryFolder } from '../../helpers/service.ts';

type Call = { name: string; run: (port: VaultPort, at: number) => Promise<unknown> };

const log = 'annals/test';
const key = fc.constantFrom('a', 'b', 'c');
const text = fc.constantFrom('', 'x', 'Zürich 🦊 "quoted" \\ NULL', 'y'.repeat(900));
const millisecond = 1;
const opening = 20_000;

/** A call of the port; `at` is its time, in milliseconds, and later for each. */
const call: fc.Arbitrary<Call> = fc.oneof(
  key.map((hash) => ({
    name: `passwords.put ${hash}`,
    // The credential is made with a secret of each vault.
    run: async (port: VaultPort) => port.passwords.get(await port.passwords.put(`$2b$12$${hash}`)),
  })),
  fc.subarray(['a', 'b', 'c']).map((hashes) => ({
    name: `passwords.retain ${hashes}`,
    run: async (port: VaultPort) => {
      const named = [];
      for (const hash of hashes) named.push(await port.passwords.put(`$2b$12$${hash}`));
      const count = await port.passwords.retain(new Set([...named, 'another']));
      return [count, (await port.passwords.beginnings()).sort()];
    },
  })),
  key.map((hash) => ({
    name: `passwords.delete ${hash}`,
    run: async (port: VaultPort) => {
      const credential = await port.passwords.put(`$2a$10$${hash}`);
      const isSame = [
        await port.passwords.isSame(credential, `$2a$10$${hash}`),
        await port.passwords.isSame(credential, ''),
      ];
      await port.passwords.delete(credential);
      return [isSame, await port.passwords.get(credential)];
    },
  })),
  fc.record({ one: key, attempt: key, caller: fc.constantFrom('user:ada', 'other:bob', 'other:eve') }).map((given) => ({
    name: `replays.reserve ${Object.values(given)}`,
    run(port: VaultPort, at: number) {
      const { one, attempt, caller } = given;
      const others = caller.startsWith(otherReplays) ? 2 : null;
      const about = one === 'c' ? 'users/eve' : null;
      const replay = { key: one, attempt, fingerprint: `of ${attempt}`, caller, about, expiresAt: at + 20 };
      return port.replays.reserve(replay, { own: 2, others, all: 3 }, at);
    },
  })),
  fc.record({ one: key, attempt: key, isRefused: fc.boolean() }).map(({ one, attempt, isRefused }) => ({
    name: `replays.${isRefused ? 'drop' : 'keep'} ${one} ${attempt}`,
    run: (port: VaultPort) =>
      isRefused ? port.replays.drop(one, attempt) : port.replays.keep(one, attempt, `to ${attempt}`),
  })),
  fc.record({ lifetime: fc.constantFrom(5, 100), isForgotten: fc.boolean() }).map(({ lifetime, isForgotten }) => ({
    name: `replays.purge ${lifetime}, forget ${isForgotten}`,
    async run(port: VaultPort, at: number) {
      if (isForgotten) await port.replays.forget(['user:ada', 'other:ada'], 'users/eve');
      return port.replays.purge(at, lifetime);
    },
  })),
  fc.record({ one: key, known: fc.boolean(), locks: fc.boolean() }).map(({ one, known, locks }) => ({
    name: `counters.change ${one}`,
    run: (port: VaultPort, at: number) =>
      port.counters.change(one, (before) => ({
        failures: (before?.failures ?? 0) + 1,
        lockedUntil: locks ? at + 20 * millisecond : null,
        touched: at,
        isKnown: known,
      })),
  })),
  key.map((one) => ({
    name: `counters.change ${one} to none`,
    run: async (port: VaultPort) => [await port.counters.change(one, () => null), await port.counters.get(one)],
  })),
  fc.nat(3).map((most) => ({
    name: `counters.tidy ${most}`,
    run: async (port: VaultPort, at: number) => {
      await port.counters.tidy(at, at - 10, most);
      return [await port.counters.count(), await port.counters.get('a'), await port.counters.get('b')];
    },
  })),
  key.map((secret) => ({
    name: `apiKeys.put ${secret}`,
    run: async (port: VaultPort, at: number) => {
      const credential = await port.apiKeys.put(secret, at);
      await port.apiKeys.used(secret, at);
      return [
        (await port.apiKeys.match([null, credential], secret)) === credential,
        await port.apiKeys.match([credential], 'another'),
        await port.apiKeys.match(['another', null], secret),
      ];
    },
  })),
  fc.record({ one: key, old: fc.boolean() }).map(({ one, old }) => ({
    name: `apiKeys.retain ${one}`,
    run: async (port: VaultPort, at: number) => {
      const credentials: string[] = [];
      for (const secret of ['a', 'b', 'c']) credentials.push(await port.apiKeys.put(secret, at));
      await port.apiKeys.retain(new Set(credentials.slice(0, 1)), at + (old ? 3_600_001 : 0));
      const found = [];
      for (const secret of ['a', 'b', 'c']) found.push((await port.apiKeys.match(credentials, secret)) !== null);
      await port.apiKeys.delete(one, credentials.slice(1));
      return [found, (await port.apiKeys.match(credentials, one)) !== null, [...(await port.apiKeys.uses())].sort()];
    },
  })),
  fc
    .record({ caller: key, isOther: fc.boolean(), data: text, room: fc.integer({ min: 1, max: 4 }) })
    .map(({ caller, isOther, data, room }) => ({
      name: `previews.keep ${caller} ${isOther} ${data.length}`,
      run: async (port: VaultPort, at: number) => {
        const kept = { id: `d${at}`, collection: 'posts', document: caller, data, expiresAt: at + 15 };
        return await port.previews.keep(
          { ...kept, caller: `${isOther ? otherCallers : ''}${caller}` },
          {
            own: { count: room, bytes: 1000 },
            all: { count: 5, bytes: 2000 },
            others: isOther ? { count: 2, bytes: 800 } : null,
          },
        );
      },
    })),
  fc.nat(20).map((ago) => ({
    name: `previews.get ${ago}`,
    run: async (port: VaultPort, at: number) => [
      await port.previews.get(`d${at - ago}`, at),
      await port.previews.delete(`d${at - ago - 1}`),
      await port.previews.get(`d${at - ago - 2}`, at),
    ],
  })),
  fc.tuple(key, fc.nat(20)).map(([maker, life]) => ({
    name: `previewTokens.add ${maker} ${life}`,
    run: async ({ previewTokens }: VaultPort, at: number) => {
      const token = {
        id: `t${at}`,
        hash: `h${at}`,
        maker,
        view: '{"draft":true}',
        createdAt: at,
        expiresAt: at + life,
      };
      const isKept = await previewTokens.add(token, { now: at, most: 3 });
      return [isKept, await previewTokens.find(`h${at}`, at), await previewTokens.all(at)];
    },
  })),
  key.map((maker) => ({
    name: `previewTokens.forget ${maker}`,
    run: async ({ previewTokens }: VaultPort, at: number) => {
      await previewTokens.forget(maker);
      const [newest] = await previewTokens.all(at);
      if (newest) await previewTokens.delete(newest.id);
      return previewTokens.all(at);
    },
  })),
  key.map((one) => ({
    name: `previews.forget ${one}`,
    run: async (port: VaultPort, at: number) => [
      await port.previews.forget(category('posts'), one, ['c', `${otherCallers}a`]),
      await port.previews.purge(at, 15),
      await port.previews.leaveNoTrace(),
    ],
  })),
  fc
    .record({
      owner: key,
      target: key,
      data: text,
      expected: fc.constantFrom(null, '*' as const, [1, 2, 3], [4, 5, 6, 7, 8]),
      version: fc.option(fc.nat(3)),
      adminCollection: fc.constantFrom('a', 'b', 'c', null),
    })
    .map(({ owner, target, data, expected, version, adminCollection }) => ({
      name: `unsavedChanges.keep ${owner} ${target} ${expected} beside ${adminCollection}`,
      run: (port: VaultPort, at: number) =>
        port.unsavedChanges.keep(
          {
            owner: `${owner}/1`,
            adminCollection: adminCollection === null ? null : category(adminCollection),
            target: `posts/${target}`,
            data,
            title: data.slice(0, 10),
            version,
            expected,
          },
          {
            user: { count: 2, bytes: 1800 },
            others: { count: 3, bytes: 2000 },
            all: { count: 4, bytes: 2500 },
            lifetime: 30,
          },
          at,
        ),
    })),
  fc.record({ owner: key, target: key, since: fc.nat(40) }).map(({ owner, target, since }) => ({
    name: `unsavedChanges.get ${owner} ${target}`,
    run: async (port: VaultPort, at: number) => [
      await port.unsavedChanges.get(`${owner}/1`, `posts/${target}`, at - since),
      await port.unsavedChanges.all(`${owner}/1`, at - since),
    ],
  })),
  fc
    .record({ owner: key, target: key, expected: fc.constantFrom(null, '*' as const, [1, 2, 3, 4]) })
    .map(({ owner, target, expected }) => ({
      name: `unsavedChanges.remove ${owner} ${target} ${expected}`,
      run: (port: VaultPort, at: number) =>
        port.unsavedChanges.remove(`${owner}/1`, `posts/${target}`, { expected, since: at - 30 }),
    })),
  key.map((one) => ({
    name: `unsavedChanges.forget ${one}`,
    run: async (port: VaultPort, at: number) => [
      await port.unsavedChanges.forget(one === 'a' ? 'posts/a' : `${one}/1`),
      await port.unsavedChanges.purge(at - 30, at),
      await port.unsavedChanges.leaveNoTrace(),
      await port.unsavedChanges.all('b/1', 0),
    ],
  })),
  fc.record({ user: key, added: text, fails: fc.boolean() }).map(({ user, added, fails }) => ({
    name: `preferences.change ${user}`,
    run: async (port: VaultPort) => {
      const next = (before: string | null) => {
        if (fails) throw new RangeError(`no more than ${before}`);
        return `${(before ?? '').slice(-20)}${added}.`;
      };
      const told = await port.preferences.change(user, next).catch((error) => error.message);
      return [told, await port.preferences.get(user)];
    },
  })),
  key.map((user) => ({
    name: `preferences.delete ${user}`,
    run: async (port: VaultPort) => [await port.preferences.delete(user), await port.preferences.get(user)],
  })),
);

type KeyCall = { name: string; run: (keys: LogKeys, ids: KeyIds, at: number) => Promise<unknown> };
type LogKeys = VaultPort['logKeys'];

/** The ids of keys, which are random, in the order in which they were met: the same call meets the same number. */
type KeyIds = string[];

const logName = fc.constantFrom(log, 'annals/other');
const strange = ['01234567', '89abcdef'];
/** Chooses among the keys that were met, and two that no vault has. */
const chosenKey = fc.nat(6);
const idAt = (ids: KeyIds, chosen: number) =>
  [...strange, ...ids].at(-1 - (chosen % (ids.length + strange.length))) ?? '';

/** The result of a call, with numbers for ids, and without verifier keys and signatures. */
function withoutIds(value: unknown, ids: KeyIds): unknown {
  const text = JSON.stringify(value, (member, each) => {
    if (member === 'id' && typeof each === 'string' && !strange.includes(each)) {
      if (!ids.includes(each)) ids.push(each);
      return ids.indexOf(each);
    }
    return ['verifierKey', 'key', 'handover', 'retiredAt'].includes(member) && each !== null && typeof each !== 'object'
      ? typeof each
      : each;
  });
  return text === undefined ? undefined : JSON.parse(text);
}

const keyCall: fc.Arbitrary<KeyCall> = fc.oneof(
  logName.map((of) => ({ name: `current ${of}`, run: (keys: LogKeys, ids: KeyIds) => seenKeys(keys, of, ids) })),
  fc.record({ of: logName, chosen: chosenKey, size: fc.nat(3), isExpected: fc.boolean() }).map((given) => ({
    name: `sign ${JSON.stringify(given)}`,
    async run(keys: LogKeys, ids: KeyIds) {
      const { of, chosen, size, isExpected } = given;
      const { signer, signed } = await keys.current(of);
      const id = isExpected ? signer.id : idAt(ids, chosen);
      return [await keys.sign(of, id, { size, root: rootOf(size) }, isExpected ? signed : null), await keys.signed()];
    },
  })),
  fc
    .record({
      of: logName,
      disowned: fc.array(fc.record({ chosen: chosenKey, signed: fc.option(fc.nat(3)) }), { maxLength: 2 }),
      from: fc.option(chosenKey),
      handedOver: fc.option(fc.nat(5)),
      expected: fc.constantFrom('any', 'present', 'other head', 'other key'),
    })
    .map((given) => ({
      name: `replace ${JSON.stringify(given)}`,
      async run(keys: LogKeys, ids: KeyIds, at: number) {
        const { of, disowned, from, handedOver, expected } = given;
        const { signer, signed } = await keys.current(of);
        const head = (size: number) => ({ size, root: rootOf(size) });
        const made = await keys.replace(of, {
          reason: `reason ${at}`,
          disowned: disowned.map(({ chosen, signed: most }) => ({
            id: idAt(ids, chosen),
            ...(most !== null && { signed: most }),
          })),
          ...(from !== null && { from: { id: idAt(ids, from) } }),
          ...(handedOver !== null && { handedOver: { ...head(handedOver), time: '2026-11-23T09:00:00.000Z' } }),
          ...(expected === 'present' && { expected: { id: signer.id, signed } }),
          ...(expected === 'other head' && { expected: { id: signer.id, signed: head(9) } }),
          ...(expected === 'other key' && { expected: { id: strange[0] ?? '', signed } }),
        });
        assert.equal(made, made === null ? null : (await keys.current(of)).signer.key);
        return [made === null, await seenKeys(keys, of, ids)];
      },
    })),
  fc.record({ of: logName, chosen: chosenKey }).map(({ of, chosen }) => ({
    name: `note ${of} ${chosen}`,
    run: (keys: LogKeys, ids: KeyIds) =>
      keys.note(of, { kind: 'disowned', key: { id: idAt(ids, chosen) }, reason: 'noted' }),
  })),
  logName.map((of) => ({
    name: `told ${of}`,
    async run(keys: LogKeys) {
      const [first] = await keys.untold(of);
      if (first) await keys.told(first.number);
      return first?.change;
    },
  })),
);

/** All that is known of the keys of a log. */
async function seenKeys(keys: LogKeys, of: string, ids: KeyIds) {
  const { signer, signed } = await keys.current(of);
  // In no order.
  const disowned = [...(await keys.disowned(of))].map((id) => (strange.includes(id) ? id : ids.indexOf(id))).sort();
  const untold = (await keys.untold(of)).map(({ change }) => change);
  const hasHandover = untold.map((change) => change.kind === 'replaced' && change.handover !== undefined);
  return { id: signer.id, signed, known: await keys.known(of), disowned, untold, hasHandover };
}

function rootOf(size: number): Buffer {
  return Buffer.alloc(32, size);
}

describeWithPostgres('A vault in PostgreSQL', () => {
  const database = useDatabase();
  let shared: Promise<TestDatabase> | null = null;
  let sites = 0;

  async function newSite(): Promise<{ address: PostgresAddress; site: string } & Pick<TestDatabase, 'sql'>> {
    shared ??= database();
    const { address, sql } = await shared;
    sites += 1;
    return { address, sql, site: `site ${sites}` };
  }

  async function open(t: TestContext, at: { address: PostgresAddress; site: string }): Promise<PostgresVault> {
    const vault = await openPostgresVault({ ...at, secrets: ['signing'], warn: () => {}, spareMilliseconds: 0 });
    t.after(vault.close);
    return vault;
  }

  async function twoNodes(t: TestContext) {
    const at = await newSite();
    const [one, other] = await Promise.all([open(t, at), open(t, at)]);
    return { one, other, ...at };
  }

  it('answers each call as a vault in a file does', async (t) => {
    const { address } = await newSite();
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 10, maxLength: 60 }), async (calls) => {
        runs += 1;
        const file = openVault(join(temporaryFolder(t), `vault-${runs}.db`));
        const vault = await openPostgresVault({
          address,
          site: `run ${runs}`,
          secrets: [],
          warn: () => {},
          spareMilliseconds: 0,
        });
        try {
          const port = portOf(file);
          let at = 1000;
          for (const { name, run } of calls) {
            at += 1;
            assert.deepEqual(await run(vault.port, at), await run(port, at), name);
          }
        } finally {
          file.close();
          await vault.close();
        }
      }),
      { numRuns: Number(process.env.TEST_RUNS ?? 25) },
    );
  });

  it('replaces a key once, and not while it signs, of two nodes that want both at the same time', async (t) => {
    const { one, other } = await twoNodes(t);
    for (let round = 0; round < 5; round += 1) {
      const { signer, signed } = await one.port.logKeys.current(log);
      const expected = { id: signer.id, signed };
      const head = { size: round + 1, root: rootOf(round + 1) };
      const handedOver = { ...head, time: '2026-11-23T09:00:00.000Z' };
      const [made, also, isSigned] = await Promise.all([
        one.port.logKeys.replace(log, { reason: 'one', handedOver, expected }),
        other.port.logKeys.replace(log, { reason: 'other', handedOver, expected }),
        other.port.logKeys.sign(log, signer.id, head, signed),
      ]);
      // One of the three succeeds; the calls after it find another key, or another head.
      assert.equal([made, also].filter((key) => key !== null).length + Number(isSigned), 1);
      assert.equal(await one.port.logKeys.sign(log, signer.id, { ...head, size: 9 }, signed), false);
    }
    const known = await one.port.logKeys.known(log);
    assert.equal((await one.port.logKeys.untold(log)).length, known.length - 1);
  });

  it('keeps keys of logs as a vault in a file does', async (t) => {
    const { one } = await twoNodes(t);
    const file = openVault(join(temporaryFolder(t), 'vault.db'));
    t.after(file.close);
    const told = [];
    for (const { logKeys } of [one.port, portOf(file)]) {
      const names = new Map<string, string>();
      // Keys are random, and known by the order in which they came.
      const name = (id: string) => {
        if (!names.has(id)) names.set(id, `key ${names.size}`);
        return names.get(id);
      };
      const first = await logKeys.current(log);
      const seen: unknown[] = [name(first.signer.id), first.signed, await logKeys.signed()];
      const head = { size: 3, root: rootOf(3) };
      seen.push(await logKeys.sign(log, first.signer.id, head, null));
      seen.push(await logKeys.sign(log, first.signer.id, { size: 4, root: rootOf(4) }, null));
      seen.push(await logKeys.sign(log, first.signer.id, { size: 4, root: rootOf(4) }, { size: 3, root: emptyRoot }));
      seen.push(
        (await logKeys.current(log)).signed,
        (await logKeys.signed()).map(({ size }) => size),
      );
      const handedOver = { ...head, time: '2026-11-23T09:00:00.000Z' };
      for (const expected of [
        { id: first.signer.id, signed: null },
        { id: first.signer.id, signed: { ...head, size: 2 } },
        { id: first.signer.id, signed: { ...head, root: rootOf(4) } },
        { id: '01234567', signed: head },
      ])
        seen.push(await logKeys.replace(log, { reason: 'too late', handedOver, expected }));
      seen.push((await logKeys.known(log)).length, (await logKeys.untold(log)).length);
      const expected = { id: first.signer.id, signed: head };
      const made = await logKeys.replace(log, { reason: 'handed over', handedOver, expected });
      const second = await logKeys.current(log);
      assert.equal(made, second.signer.key);
      seen.push(await logKeys.replace(log, { reason: 'a second time', expected }));
      seen.push(name(second.signer.id), second.signed, await logKeys.sign(log, first.signer.id, head, head));
      await logKeys.replace(log, {
        reason: 'lost',
        disowned: [{ id: second.signer.id, signed: 3 }, { id: '01234567' }],
      });
      name((await logKeys.current(log)).signer.id);
      await logKeys.note(log, { kind: 'disowned', key: { id: '89abcdef' }, reason: 'noted' });
      const untold = await logKeys.untold(log);
      await logKeys.told(untold[0]?.number ?? 0);
      await logKeys.current('annals/other');
      seen.push(
        (await logKeys.known(log)).map((key) => [name(key.id), key.retiredAt !== null, key.isDisowned]),
        [...(await logKeys.disowned(log))].map(name),
        (await logKeys.disowned('annals/other')).size,
        untold.map(({ change }) =>
          JSON.stringify(change, (member, value) =>
            member === 'id' ? name(value) : member === 'verifierKey' || member === 'handover' ? typeof value : value,
          ),
        ),
        (await logKeys.untold(log)).length,
      );
      told.push(seen);
    }
    assert.deepEqual(told[0], told[1]);
  });

  it('answers each call about keys of logs as a vault in a file does', async (t) => {
    const { address } = await newSite();
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(keyCall, { minLength: 5, maxLength: 25 }), async (calls) => {
        runs += 1;
        const file = openVault(join(temporaryFolder(t), `vault-${runs}.db`));
        const at = { address, site: `keys ${runs}`, secrets: [], warn: () => {}, spareMilliseconds: 0 };
        const vault = await openPostgresVault(at);
        try {
          const [inFile, shared]: [KeyIds, KeyIds] = [[], []];
          const keys = portOf(file).logKeys;
          for (const [number, { name, run }] of calls.entries()) {
            const told = withoutIds(await run(keys, inFile, number), inFile);
            assert.deepEqual(withoutIds(await run(vault.port.logKeys, shared, number), shared), told, name);
          }
        } finally {
          file.close();
          await vault.close();
        }
      }),
      { numRuns: Number(process.env.TEST_RUNS ?? 25) },
    );
  });

  it('gives all nodes that start at the same time the same secrets and the same key', async (t) => {
    const at = await newSite();
    const nodes = await Promise.all([1, 2, 3, 4].map(() => open(t, at)));
    assert.equal(new Set(nodes.map(({ secret }) => secret('signing'))).size, 1);
    assert.equal(new Set(nodes.map(({ opaqueId }) => opaqueId('a key'))).size, 1);
    const keys = await Promise.all(nodes.map(({ port }) => port.logKeys.current(log)));
    assert.equal(new Set(keys.map(({ signer }) => signer.key)).size, 1);
    const [first] = nodes;
    assert.deepEqual(
      [await first?.isOf(log), await nodes[1]?.isOf('annals/other'), await nodes[2]?.isOf(log)],
      [true, false, true],
    );
  });

  it('keeps the sites of a database apart', async (t) => {
    const at = await newSite();
    const [one, other] = [await open(t, at), await open(t, { ...at, site: `${at.site} b` })];
    assert.notEqual(one.secret('signing'), other.secret('signing'));
    await one.port.preferences.change('users/1', () => '{}');
    assert.equal(await other.port.preferences.get('users/1'), null);
  });

  it('counts failures of two nodes exactly, and locks after as many as are allowed', async (t) => {
    const { one, other } = await twoNodes(t);
    const rule = { maxLoginAttempts: 5, lockTime: 600 };
    const lockouts = [one, other].map(({ port }) => createLockout({ counters: port.counters, now: () => 1_000_000 }));
    const counted = await Promise.all(
      Array.from({ length: 20 }, (_, at) => lockouts[at % 2]?.count('ada', true, rule)),
    );
    assert.equal(counted.filter((result) => result?.kind === 'counted').length, 5);
    assert.deepEqual(await other.port.counters.get('ada'), {
      failures: 5,
      lockedUntil: 1_600_000,
      touched: 1_000_000,
      isKnown: true,
    });
  });

  it('loses no change of a counter or a preference that two nodes make, delete and make again', async (t) => {
    const { one, other } = await twoNodes(t);
    const rounds = 30;
    let ended = 0;
    await Promise.all(
      [one, other].map(async ({ port }) => {
        for (let at = 0; at < rounds; at += 1) {
          await port.counters
            .change('ada', (before) => {
              const failures = (before?.failures ?? 0) + 1;
              return failures > 3 ? null : { failures, lockedUntil: null, touched: at, isKnown: true };
            })
            .then((after) => {
              if (after === null) ended += 1;
            });
          await port.preferences.change('users/1', (before) => `${before ?? ''}.`);
        }
      }),
    );
    const left = (await one.port.counters.get('ada'))?.failures ?? 0;
    assert.equal(4 * ended + left, 2 * rounds);
    assert.equal((await other.port.preferences.get('users/1'))?.length, 2 * rounds);
  });

  it('reserves an idempotency key for one of two nodes that want it at the same time', async (t) => {
    const { one, other } = await twoNodes(t);
    for (let at = 0; at < 5; at += 1) {
      const reserve = ({ port }: PostgresVault, attempt: string) => {
        const replay = { key: `key ${at}`, attempt, fingerprint: 'f', caller: 'user:ada', about: null, expiresAt: 9 };
        return port.replays.reserve(replay, { own: 9, others: null, all: 9 }, 1);
      };
      const found = await Promise.all([reserve(one, 'one'), reserve(other, 'other')]);
      const [winner] = found.map((row) => row?.attempt);
      assert.deepEqual(
        found.map((row) => row?.attempt),
        [winner, winner],
      );
      await one.port.replays.keep(`key ${at}`, String(winner), 'sealed');
      assert.equal((await reserve(other, 'later'))?.answer, 'sealed');
    }
  });

  it('shows a node at once what another one has made', async (t) => {
    const { one, other } = await twoNodes(t);
    const credential = await one.port.apiKeys.put('a secret', 1);
    assert.equal(await other.port.apiKeys.match([credential], 'a secret'), credential);
    await other.port.apiKeys.delete('an id', [credential]);
    assert.equal(await one.port.apiKeys.match([credential], 'a secret'), null);
    const password = await one.port.passwords.put('a hash');
    assert.equal(await other.port.passwords.get(password), 'a hash');
    await one.port.passwords.delete(password);
    assert.equal(await other.port.passwords.get(password), null);
  });

  it('keeps the unsaved change of one of two nodes that both want to be the next', async (t) => {
    const { one, other } = await twoNodes(t);
    const three = { count: 3, bytes: 1000 };
    const room = { user: three, others: three, all: three, lifetime: 100 };
    const change = {
      owner: 'users/1',
      adminCollection: category('users'),
      target: 'posts/1',
      version: 1,
      title: 't',
      data: '{}',
    };
    const first = await one.port.unsavedChanges.keep({ ...change, expected: null }, room, 1000);
    assert.equal(first.kind, 'kept');
    const revision = first.kind === 'kept' ? first.change.revision : 0;
    const kinds = await Promise.all(
      Array.from({ length: 6 }, async (_, at) => {
        const { port } = at % 2 === 0 ? one : other;
        return (await port.unsavedChanges.keep({ ...change, expected: [revision] }, room, 1001)).kind;
      }),
    );
    assert.deepEqual(kinds.sort(), ['kept', 'stale', 'stale', 'stale', 'stale', 'stale']);
    // And of different ones only as many as there is room for.
    const others = await Promise.all(
      Array.from({ length: 6 }, async (_, at) => {
        const { port } = at % 2 === 0 ? one : other;
        return (await port.unsavedChanges.keep({ ...change, target: `posts/${at + 2}`, expected: null }, room, 1002))
          .kind;
      }),
    );
    assert.equal(others.filter((kind) => kind === 'kept').length, 2);
  });

  it('lets one of two nodes sign a head', async (t) => {
    const { one, other } = await twoNodes(t);
    const { signer } = await one.port.logKeys.current(log);
    const signed = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        (at % 2 === 0 ? one : other).port.logKeys.sign(log, signer.id, { size: 5, root: rootOf(at) }, null),
      ),
    );
    assert.equal(signed.filter(Boolean).length, 1);
    const winner = signed.indexOf(true);
    assert.deepEqual((await other.port.logKeys.current(log)).signed, { size: 5, root: rootOf(winner) });
  });

  it('pins a file for any number of nodes, or lets one remove it', async (t) => {
    const { one, other, sql } = await twoNodes(t);
    const minute = 60_000;
    assert.equal(await one.pins.pin('a', 'one/1', minute), 'pinned');
    assert.equal(await other.pins.pin('a', 'other/1', minute), 'pinned');
    assert.equal(await other.pins.withhold('a', 'other', minute), false);
    await one.pins.unpin(['one/1', 'one/2']);
    assert.equal(await one.pins.withhold('a', 'one', minute), false);
    await other.pins.unpin(['other/1']);
    const removers = await Promise.all(
      Array.from({ length: 6 }, (_, at) => (at % 2 === 0 ? one : other).pins.withhold('a', `remover ${at}`, minute)),
    );
    assert.equal(removers.filter(Boolean).length, 1);
    const remover = `remover ${removers.indexOf(true)}`;
    assert.equal(await other.pins.pin('a', 'other/2', minute), 'removing');
    await one.pins.settle('a', remover, minute);
    assert.equal(await other.pins.pin('a', 'other/2', minute), 'doubtful');
    await one.pins.settle('a', remover, null);
    assert.equal(await other.pins.pin('a', 'other/2', minute), 'pinned');
    // A node that is gone holds it no longer than it said.
    await other.pins.renew(['other/2'], minute);
    assert.equal(await one.pins.withhold('a', 'one', minute), false);
    await sql("UPDATE annals_vault.pins SET until = 0 WHERE holder = 'other/2'");
    assert.equal(await one.pins.withhold('a', 'one', minute), true);
  });

  it('never has a file pinned and removed at once', async (t) => {
    const nodes = Object.values(await twoNodes(t)).slice(0, 2) as PostgresVault[];
    let pinned = 0;
    let removing = 0;
    let clashes = 0;
    const counts = { pinned: 0, removed: 0 };
    await Promise.all(
      nodes.flatMap(({ pins }, node) => [
        (async () => {
          for (let at = 0; at < 25; at += 1) {
            if ((await pins.pin('a', `${node}/${at}`, 60_000)) !== 'pinned') continue;
            pinned += 1;
            counts.pinned += 1;
            if (removing > 0) clashes += 1;
            await new Promise(setImmediate);
            pinned -= 1;
            await pins.unpin([`${node}/${at}`]);
          }
        })(),
        (async () => {
          for (let at = 0; at < 25; at += 1) {
            if (!(await pins.withhold('a', `remover ${node}`, 60_000))) continue;
            removing += 1;
            counts.removed += 1;
            if (pinned > 0) clashes += 1;
            await new Promise(setImmediate);
            removing -= 1;
            await pins.settle('a', `remover ${node}`, null);
          }
        })(),
      ]),
    );
    assert.equal(clashes, 0);
    assert.ok(counts.pinned > 0 && counts.removed > 0, JSON.stringify(counts));
  });

  it('gives a lease to one node, and to another one once it has passed or was released', async (t) => {
    const { one, other, sql } = await twoNodes(t);
    const minute = 60_000;
    const taken = await Promise.all([
      one.leases.take('mail', 'one', minute),
      other.leases.take('mail', 'other', minute),
    ]);
    const [winner, loser] = taken[0] === 1 ? ['one', 'other'] : ['other', 'one'];
    assert.deepEqual(taken.sort(), [1, null].sort());
    assert.equal(await one.leases.take('mail', winner, minute), 1);
    assert.equal(await one.leases.take('mail', loser, minute), null);
    await sql('UPDATE annals_vault.leases SET until = 0');
    assert.equal(await one.leases.take('mail', loser, minute), 2);
    assert.equal(await other.leases.take('mail', winner, minute), null);
    await one.leases.release('mail', winner);
    assert.equal(await other.leases.take('mail', winner, minute), null);
    await one.leases.release('mail', loser);
    assert.equal(await other.leases.take('mail', winner, minute), 3);
    assert.equal(await one.leases.isDone('seed'), false);
    await other.leases.noteDone('seed');
    assert.equal(await one.leases.isDone('seed'), true);
  });

  it('refuses within its patience while no server answers, and goes on afterwards', async (t) => {
    const { address, site, sql } = await newSite();
    const warnings: string[] = [];
    const vault = await openPostgresVault({
      address,
      site,
      secrets: [],
      warn: (message) => warnings.push(message),
      patience: 1500,
    });
    t.after(vault.close);
    await vault.port.preferences.change('users/1', () => 'before');
    const close = [
      `ALTER ROLE ${address.user} NOLOGIN`,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${address.user}'`,
    ];
    await sql(...close);
    const unavailable = { name: 'DomainError', code: 'unavailable', retryAfter: 5 };
    await assert.rejects(vault.port.preferences.get('users/1'), unavailable);
    await assert.rejects(
      vault.port.preferences.change('users/1', () => 'meanwhile'),
      unavailable,
    );
    await assert.rejects(
      vault.port.counters.change('ada', () => null),
      unavailable,
    );
    assert.equal(warnings.filter((warning) => /the vault in PostgreSQL is not available/.test(warning)).length, 1);
    await sql(`ALTER ROLE ${address.user} LOGIN`);
    assert.equal(await vault.port.preferences.get('users/1'), 'before');
    assert.equal(await vault.port.preferences.change('users/1', () => 'after'), 'after');
  });

  it('refuses calls that wait behind others at the end of their own time', async (t) => {
    const { address, sql } = await database();
    const vault = await openPostgresVault({ address, site: '', secrets: [], warn: () => {}, patience: 1500, opening });
    t.after(vault.close);
    await sql(
      `ALTER ROLE ${address.user} NOLOGIN`,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${address.user}'`,
    );
    const began = performance.now();
    const calls = Array.from({ length: 60 }, (_, at) => vault.port.counters.change(`user ${at}`, () => null));
    const refused = await Promise.allSettled(calls);
    assert.deepEqual(
      refused.map((one) => (one.status === 'rejected' ? one.reason.code : one.status)),
      calls.map(() => 'unavailable'),
    );
    // In sequence these calls would take half a minute.
    assert.ok(performance.now() - began < 15_000);
    await sql(`ALTER ROLE ${address.user} LOGIN`);
    assert.equal(await vault.port.counters.change('user 1', () => null), null);
  });

  it('keeps each password that another node may have stored just now', async (t) => {
    const { address, site } = await newSite();
    const vault = await openPostgresVault({ address, site, secrets: [], warn: () => {} });
    t.after(vault.close);
    const credential = await vault.port.passwords.put('a hash');
    assert.equal(await vault.port.passwords.retain(new Set()), 0);
    assert.equal(await vault.port.passwords.get(credential), 'a hash');
  });
});
