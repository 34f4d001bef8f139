import assert from 'node:assert/strict';
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import bcrypt from 'bcrypt';
import type { DomainError } from '../../config/errors.ts';
import { openVault, type Vault } from '../../events/vault/vault.ts';
import { portOf } from '../../events/vault/vault-port.ts';
import type { LockRule } from '../../server/accounts/lockout.ts';
import { createPasswordService, type MainPasswordService } from '../../server/accounts/password-service.ts';
import type { LoginCheck, PasswordService } from '../../server/ports.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { category } from '../helpers/category.ts';
import { temporaryFolder } from '../helpers/service.ts';

const password = 'correct horse';
const start2026 = Date.UTC(2026, 0, 1);

type Keeping = {
  passwords: PasswordService;
  /** The service as the main thread has it, with more calls. */
  main: MainPasswordService;
  vault: Vault;
  folder: string;
  clock: { time: number };
  mails: () => number;
  /** How often a hash was met that is not the one that was kept. */
  swapped: () => number;
  /** Ends it, and starts one over the same vault, whose clock stands `milliseconds` later. */
  restart: (milliseconds?: number) => Promise<Keeping>;
};
type Given = { folder?: string; time?: number; rule?: Partial<LockRule>; bcryptCost?: number };

/** A password service over a vault of its own. `users` and `clients` are auth collections. */
function start(t: TestContext, given: Given = {}): Keeping {
  const { folder = temporaryFolder(t), time = start2026, rule = {}, bcryptCost = 4 } = given;
  const vault = openVault(join(folder, 'vault.db'));
  const clock = { time };
  let mails = 0;
  let swapped = 0;
  const itsRule = { maxLoginAttempts: 5, lockTime: 600, ...rule };
  const main = createPasswordService({
    vault: portOf(vault),
    secret: vault.secret,
    rules: new Map([
      [category('users'), itsRule],
      [category('clients'), itsRule],
    ]),
    bcryptCost,
    rateLimit: { address: 3, email: 2 },
    now: () => clock.time,
    onMail: () => {
      mails += 1;
    },
    onSwapped: () => {
      swapped += 1;
    },
  });
  let isEnded = false;
  async function end(): Promise<void> {
    if (isEnded) return;
    isEnded = true;
    await main.close();
    vault.close();
  }
  t.after(end);
  async function restart(milliseconds = 0): Promise<Keeping> {
    await end();
    return start(t, { ...given, folder, time: clock.time + milliseconds });
  }
  return { passwords: main.passwords, main, vault, folder, clock, mails: () => mails, swapped: () => swapped, restart };
}

/** The address of a caller. */
const home = '192.0.2.1';

async function keep(passwords: PasswordService, text = password): Promise<string> {
  return (await passwords.storePassword(text, home)) ?? assert.fail('it is not busy');
}

/** Logs in as ada, whose credential may be none, with the right password or another. */
function login(
  passwords: PasswordService,
  credential: string | null,
  given = password,
  email = 'ada@example.com',
  address = home,
) {
  return passwords.checkPassword({ address, category: category('users'), email, credential, password: given });
}

async function times(count: number, run: () => Promise<LoginCheck>): Promise<LoginCheck[]> {
  const all = [];
  for (let done = 0; done < count; done += 1) all.push(await run());
  return all;
}

function kindsOf(all: readonly LoginCheck[]): { [kind: string]: number } {
  return Object.fromEntries(
    Object.entries(Object.groupBy(all, ({ kind }) => kind)).map(([k, v]) => [k, v?.length ?? 0]),
  );
}

const wrong = { kind: 'wrong', lockedUntil: null } as const;

describe('keeping passwords', () => {
  it('knows the right one from others, as long as it is kept', async (t) => {
    const { passwords } = start(t);
    const credential = await keep(passwords);
    assert.match(credential, /^hmac-sha256:[0-9a-f]{64}$/);
    assert.deepEqual(await login(passwords, credential), { kind: 'right' });
    assert.deepEqual(await login(passwords, credential, 'Correct horse'), wrong);
    await passwords.forgetPassword(credential);
    await passwords.forgetPassword(credential);
    assert.deepEqual(await login(passwords, credential), wrong);
  });

  it('keeps the same password twice under names and hashes that have nothing in common', async (t) => {
    const { passwords, vault } = start(t);
    const [one, other] = [await keep(passwords), await keep(passwords)];
    assert.notEqual(one, other);
    assert.notEqual(vault.passwords.get(one), vault.passwords.get(other));
  });

  it('keeps neither a password nor an e-mail in the vault, only what was made of them', async (t) => {
    const { passwords, folder } = start(t);
    const credential = await keep(passwords);
    await login(passwords, credential, 'a wrong horse');
    await login(passwords, null, 'a wrong horse', 'unknown@example.com');
    const bytes = Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
    assert.ok(bytes.includes(credential));
    for (const text of [password, 'a wrong horse', 'example.com']) assert.ok(!bytes.includes(text), text);
  });

  it('names each by an HMAC of its hash, so an exchanged hash is found and logs in no one', async (t) => {
    const { passwords, vault, folder, main, swapped } = start(t);
    const [ada, mallory] = [await keep(passwords), await keep(passwords, 'the password of mallory')];
    const hash = vault.passwords.get(ada) as string;
    const key = Buffer.from(vault.secret('password-commitments'), 'base64url');
    assert.equal(ada, `hmac-sha256:${createHmac('sha256', key).update(hash).digest('hex')}`);
    const old = randomUUID();
    const db = openDatabase(join(folder, 'vault.db'), { durability: 'full' });
    // A password from before this rule: its hash cannot be checked.
    db.prepare('INSERT INTO passwords VALUES (?, ?)').run(old, hash);
    db.prepare(
      'UPDATE passwords SET hash = (SELECT hash FROM passwords WHERE credential = ?) WHERE credential = ?',
    ).run(mallory, ada);
    db.close();
    assert.deepEqual(await login(passwords, ada, 'the password of mallory'), wrong);
    assert.deepEqual(await login(passwords, ada), wrong);
    assert.equal(swapped(), 2);
    assert.deepEqual(await login(passwords, old), { kind: 'right' });
    assert.deepEqual(await login(passwords, mallory, 'the password of mallory'), { kind: 'right' });
    assert.equal(swapped(), 2);
    assert.deepEqual(await main.sweep(new Set([ada, mallory, old, 'none'])), { missing: 1, swapped: 1 });
  });

  it('makes hashes of the configured cost, and still knows those of other costs', async (t) => {
    const { passwords, vault } = start(t, { bcryptCost: 5 });
    assert.equal(bcrypt.getRounds(vault.passwords.get(await keep(passwords)) as string), 5);
    for (const cost of [4, 6]) {
      const credential = vault.passwords.put(bcrypt.hashSync(password, cost));
      assert.deepEqual(await login(passwords, credential), { kind: 'right' });
      assert.deepEqual(await login(passwords, credential, 'a wrong horse'), wrong);
    }
  });

  it('takes 72 bytes and not one more, and nothing that bcrypt would end early', async (t) => {
    const { passwords } = start(t, { rule: { maxLoginAttempts: 100 } });
    for (const longest of ['x'.repeat(72), 'ä'.repeat(36), '🐎'.repeat(18)]) {
      const credential = await keep(passwords, longest);
      assert.deepEqual(await login(passwords, credential, longest), { kind: 'right' });
      // bcrypt itself would take these for the same.
      assert.deepEqual(await login(passwords, credential, `${longest}y`), wrong);
      assert.deepEqual(await login(passwords, credential, `${longest}\0`), wrong);
    }
    for (const impossible of ['x'.repeat(73), '1234567', 'correct\0horse', 'correct \ud83d horse']) {
      await assert.rejects(passwords.storePassword(impossible, home), ({ code, message, errors }: DomainError) => {
        assert.equal(code, 'validation_failed');
        assert.match(message, /^password must (have|not hold) /);
        assert.partialDeepStrictEqual(errors, [{ field: 'password', in: 'body', message }]);
        return true;
      });
    }
  });

  it('counts a password that none can be as a wrong one', async (t) => {
    const { passwords } = start(t);
    const credential = await keep(passwords);
    const all = await times(5, () => login(passwords, credential, 'x'.repeat(1_000_000)));
    assert.equal((all.at(-1) as { lockedUntil: number }).lockedUntil, start2026 + 600_000);
  });

  it('forgets at the start what no account names', async (t) => {
    const { passwords, restart } = start(t);
    const [named, left] = [await keep(passwords), await keep(passwords)];
    const { passwords: next, main } = await restart();
    assert.deepEqual(await main.sweep(new Set([named, randomUUID()])), { missing: 1, swapped: 0 });
    assert.deepEqual(await login(next, named), { kind: 'right' });
    assert.deepEqual(await login(next, left), wrong);
  });
});

describe('locking accounts', () => {
  it('locks after the last allowed failure, for the right password too, until the lock time is over', async (t) => {
    const { passwords, clock } = start(t);
    const credential = await keep(passwords);
    assert.deepEqual(await times(5, () => login(passwords, credential, 'a wrong horse')), [
      ...Array(4).fill(wrong),
      { kind: 'wrong', lockedUntil: start2026 + 600_000 },
    ]);
    assert.deepEqual(await login(passwords, credential), { kind: 'locked', seconds: 600 });
    clock.time += 599_001;
    assert.deepEqual(await login(passwords, credential, 'a wrong horse'), { kind: 'locked', seconds: 1 });
    clock.time += 999;
    assert.deepEqual(await times(4, () => login(passwords, credential, 'a wrong horse')), Array(4).fill(wrong));
    assert.deepEqual(await login(passwords, credential), { kind: 'right' });
  });

  it('answers the same for an e-mail without an account, and for a credential that is not there', async (t) => {
    const { passwords } = start(t);
    const credential = await keep(passwords);
    const answers = [credential, null, randomUUID()].map((its, index) =>
      times(7, () => login(passwords, its, 'a wrong horse', `${index}@example.com`)),
    );
    const [known, ...others] = await Promise.all(answers);
    assert.deepEqual(kindsOf(known as LoginCheck[]), { wrong: 5, locked: 2 });
    for (const other of others) assert.deepEqual(other, known);
  });

  it('counts only failures in a row', async (t) => {
    const { passwords } = start(t);
    const credential = await keep(passwords);
    for (let count = 0; count < 3; count += 1) {
      assert.deepEqual(await times(4, () => login(passwords, credential, 'a wrong horse')), Array(4).fill(wrong));
      assert.deepEqual(await login(passwords, credential), { kind: 'right' });
    }
  });

  it('counts by collection and e-mail, however the e-mail is written', async (t) => {
    const { passwords } = start(t);
    const credential = await keep(passwords);
    await times(5, () => login(passwords, credential, 'a wrong horse', ' ADA@example.com'));
    assert.equal((await login(passwords, credential)).kind, 'locked');
    const client = { address: home, category: category('clients'), email: 'ada@example.com', credential, password };
    assert.deepEqual(await passwords.checkPassword(client), { kind: 'right' });
  });

  it('looks at exactly as many of 20 parallel passwords as are allowed', async (t) => {
    const { passwords } = start(t);
    const credential = await keep(passwords);
    for (const its of [credential, null]) {
      const all = await Promise.all(
        Array.from({ length: 20 }, () => login(passwords, its, 'a wrong horse', `${its}@example.com`)),
      );
      assert.deepEqual(kindsOf(all), { wrong: 5, locked: 15 });
      assert.equal(all.filter((checked) => checked.kind === 'wrong' && checked.lockedUntil !== null).length, 1);
    }
  });

  it('does not look at the right password when it comes behind too many wrong ones', async (t) => {
    const { passwords } = start(t);
    const credential = await keep(passwords);
    const wrongs = Array.from({ length: 10 }, () => login(passwords, credential, 'a wrong horse'));
    assert.equal((await login(passwords, credential)).kind, 'locked');
    await Promise.all(wrongs);
  });

  it('counts an attempt before its password is compared, and has those behind it wait for how that ends', async (t) => {
    const { passwords } = start(t, { rule: { maxLoginAttempts: 1 }, bcryptCost: 11 });
    const credential = await keep(passwords);
    const first = login(passwords, credential);
    let isOver = false;
    first.finally(() => {
      isOver = true;
    });
    while ((await passwords.lockOf(category('users'), 'ada@example.com')).failures === 0) {
      assert.ok(!isOver, 'it was never counted');
      await new Promise(setImmediate);
    }
    assert.deepEqual(await Promise.all([first, login(passwords, credential)]), [{ kind: 'right' }, { kind: 'right' }]);
    assert.deepEqual(await passwords.lockOf(category('users'), 'ada@example.com'), { failures: 0, lockedUntil: null });
  });

  it('keeps counts and locks over a restart', async (t) => {
    const { passwords, restart } = start(t);
    const credential = await keep(passwords);
    await times(3, () => login(passwords, credential, 'a wrong horse'));
    await times(5, () => login(passwords, null, 'a wrong horse', 'unknown@example.com'));
    const { passwords: next } = await restart(60_000);
    const unknown = () => login(next, null, password, 'unknown@example.com');
    assert.deepEqual(await unknown(), { kind: 'locked', seconds: 540 });
    await login(next, credential, 'a wrong horse');
    const fifth = await login(next, credential, 'a wrong horse');
    assert.deepEqual(fifth, { kind: 'wrong', lockedUntil: start2026 + 660_000 });
  });

  it('locks no longer than the lock time when the clock is put back', async (t) => {
    const { passwords, restart } = start(t);
    const credential = await keep(passwords);
    await times(5, () => login(passwords, credential, 'a wrong horse'));
    const { passwords: next, clock } = await restart(-365 * 24 * 60 * 60 * 1000);
    assert.deepEqual(await login(next, credential), { kind: 'locked', seconds: 600 });
    clock.time += 600_000;
    assert.deepEqual(await login(next, credential), { kind: 'right' });
  });

  it('is ended by hand, and says whether there was something to end', async (t) => {
    const { passwords } = start(t);
    const credential = await keep(passwords);
    assert.equal(await passwords.unlock(category('users'), 'ada@example.com'), false);
    await times(5, () => login(passwords, credential, 'a wrong horse'));
    assert.equal(await passwords.unlock(category('clients'), 'ada@example.com'), false);
    assert.equal(await passwords.unlock(category('users'), 'Ada@example.com '), true);
    assert.deepEqual(await login(passwords, credential), { kind: 'right' });
  });
});

describe('many logins at once', () => {
  it('has a place for a caller beside floods from elsewhere, at however many accounts, and says busy to those', async (t) => {
    const { passwords } = start(t, { rule: { maxLoginAttempts: 1000 } });
    const credential = await keep(passwords);
    const floods = ['198.51.100.1', '198.51.100.2'].map((address) =>
      Array.from({ length: 300 }, (_, account) =>
        login(passwords, null, 'a wrong horse', `${account}@example.com`, address),
      ),
    );
    assert.deepEqual(await login(passwords, credential), { kind: 'right' });
    const all = await Promise.all(floods.flat());
    const { wrong: looked = 0, busy = 0, ...others } = kindsOf(all);
    assert.deepEqual([looked + busy, others], [600, {}]);
    // 200 that wait, and those that are looked at meanwhile.
    assert.ok(looked >= 199 && looked <= 205, String(looked));
    assert.ok(all.every((checked) => checked.kind !== 'busy' || checked.seconds > 0));
  });

  it('has room for other accounts of an address beside a flood at one', async (t) => {
    const { passwords } = start(t, { rule: { maxLoginAttempts: 1000 } });
    const credential = await keep(passwords);
    const flood = Array.from({ length: 300 }, () => login(passwords, null, 'a wrong horse', 'b@example.com'));
    assert.deepEqual(await login(passwords, credential), { kind: 'right' });
    const { wrong: looked = 0, busy = 0 } = kindsOf(await Promise.all(flood));
    assert.deepEqual([looked, busy], [41, 259]);
  });

  it('answers a flood at a locked account at once, without a place', async (t) => {
    const { passwords } = start(t);
    await times(5, () => login(passwords, null));
    const all = await Promise.all(Array.from({ length: 1000 }, () => login(passwords, null)));
    assert.deepEqual(kindsOf(all), { locked: 1000 });
  });

  it('keeps no more passwords than it has room for', async (t) => {
    const { passwords } = start(t);
    const kept = await Promise.all(Array.from({ length: 400 }, () => passwords.storePassword(password, home)));
    assert.ok(kept.includes(null));
    const credentials = kept.filter((credential) => credential !== null);
    assert.ok(credentials.length >= 40, String(credentials.length));
    assert.deepEqual(await login(passwords, credentials.at(-1) as string), { kind: 'right' });
  });

  it('leaves no call waiting when it is closed', async (t) => {
    const { passwords, main } = start(t);
    const results = Promise.allSettled(Array.from({ length: 20 }, () => login(passwords, null)));
    await main.close();
    assert.ok((await results).some(({ status }) => status === 'rejected'));
    await assert.rejects(login(passwords, null), /ending/);
  });
});

describe('one-time tokens', () => {
  const id = '0198c1f2-7a3b-7cde-8f01-23456789abcd';

  it('are opened by what they were made for and nothing else, after a restart too', async (t) => {
    const { main, restart } = start(t);
    const token = main.token('invite', category('users'), id);
    assert.match(token, /^[\w-]+$/);
    assert.ok(!token.includes(id));
    const { passwords: next } = await restart();
    assert.equal(await next.openToken('invite', category('users'), token), id);
    assert.equal(await next.openToken('reset', category('users'), token), null);
    assert.equal(await next.openToken('invite', category('clients'), token), null);
  });

  it('are not opened by another service', async (t) => {
    const token = start(t).main.token('invite', category('users'), id);
    assert.equal(await start(t).passwords.openToken('invite', category('users'), token), null);
  });

  it('are not opened when any character is changed, missing or added', async (t) => {
    const { passwords, main } = start(t);
    const token = main.token('reset', category('users'), id);
    const open = (text: string) => passwords.openToken('reset', category('users'), text);
    for (let index = 0; index < token.length; index += 1) {
      for (const other of ['A', 'B', '_', '=', '\0', 'é']) {
        const changed = token.slice(0, index) + other + token.slice(index + 1);
        if (changed !== token) assert.equal(await open(changed), null, changed);
      }
      assert.equal(await open(token.slice(0, index)), null);
      assert.equal(await open(token.slice(index + 1)), null);
    }
    for (const longer of [`${token}A`, `A${token}`, `${token}=`, `${token}\n`, ` ${token}`, token + token]) {
      assert.equal(await open(longer), null, longer);
    }
  });

  it('are not opened when they are garbage', async (t) => {
    const { passwords } = start(t);
    const garbage = [
      '',
      '.',
      'null',
      id,
      'ä'.repeat(60),
      '🐎🐎',
      '\ud800',
      'A'.repeat(43),
      'A'.repeat(10_000),
      randomBytes(68).toString('base64url'),
      randomBytes(10_000).toString('base64'),
    ];
    for (const text of garbage) assert.equal(await passwords.openToken('setup', category('users'), text), null, text);
  });
});

describe('what else the password service does', () => {
  it('limits calls by address and e-mail', async (t) => {
    const { passwords } = start(t);
    for (let calls = 0; calls < 2; calls += 1) {
      const counted = await passwords.limit('192.0.2.1', 'a@example.com');
      assert.deepEqual([counted?.wait, counted?.emailWait], [0, 0]);
    }
    assert.ok(Number((await passwords.limit('192.0.2.2', 'a@example.com'))?.emailWait) > 0);
  });

  it('passes on that a mail waits', async (t) => {
    const { passwords, mails } = start(t);
    await passwords.mailWaits();
    assert.equal(mails(), 1);
  });
});
