import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import type { Config } from '../../config/define.ts';
import type { JsonObject } from '../../config/schema.ts';
import { accountStream, type EventType, inviteStream, setupStream } from '../../events/facts/catalogue.ts';
import type { Context } from '../../events/facts/envelope.ts';
import type { Change, RecordedEvent } from '../../events/facts/log.ts';
import { compileUpcaster } from '../../events/facts/upcasters.ts';
import { accountTables } from '../../projections/tables/account-fold.ts';
import { type Accounts, openAccounts, type Session } from '../../projections/tables/accounts.ts';
import { openProjector } from '../../projections/tables/projector.ts';
import { createTables, tablesOf } from '../../projections/tables/tables.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { category } from '../helpers/category.ts';
import { type Directory, dumpFile, findingIn, openDirectory, quickFolder, setClock } from './directory.ts';

// The events alone say who has an account: the fold does not look at the configuration.
const config: Config = {
  collections: [
    { slug: 'users', fields: [{ name: 'name', type: 'text' }] },
    { slug: 'staff', fields: [{ name: 'name', type: 'text' }] },
  ],
};

const later = '2027-01-01T00:00:00.000Z';
const atLater = Date.parse(later);
/** Before anything that these tests record. */
const past = '2026-11-01T00:00:00.000Z';

/** Changes of streams about accounts, as the server makes them. */
function of(stream: string) {
  return (type: EventType, data: JsonObject = {}, expectedVersion: number | null = null): Change => {
    return { stream, expectedVersion, events: [{ type, data }], claims: [], releases: [] };
  };
}

/** The events of the account of one user, in a word each. */
function accountOf({ record }: Directory, slug: string, id: string) {
  const change = of(accountStream(category(slug), id));
  const one = (...args: Parameters<typeof change>) => record(change(...args))[0] as RecordedEvent;
  return {
    change,
    setPassword: (credential: string, rest: JsonObject = {}) => one('password.changed', { credential, ...rest }),
    start: (sid: string, credential: string, expiresAt = later, context: Context = {}) =>
      record(change('session.started', { sid, credential, expiresAt }), { context })[0] as RecordedEvent,
    refresh: (sid: string, expiresAt: string) => one('session.refreshed', { sid, expiresAt }),
    revoke: (data: JsonObject) => one('session.revoked', data),
    askReset: (reset: string, expiresAt = later) => one('password.reset.requested', { reset, expiresAt }),
    fail: () => one('login.failed'),
  };
}

function inviteTo({ record }: Directory, slug: string, id: string, email: string, expiresAt = later): RecordedEvent {
  const created = of(inviteStream(category(slug), id))('invite.created', { email, expiresAt }, 0);
  return record(created, { actor: { type: 'user', id: 'users/9' } })[0] as RecordedEvent;
}

/** A session by its id, of any user. */
function sessionIn(accounts: Accounts, sid: string): Session | null {
  const [slug = '', id = ''] = accounts.holder(sid)?.split('/') ?? [];
  return accounts.sessions(category(slug), id).find((session) => session.sid === sid) ?? null;
}

/** A data directory, and ways to open it again. */
function open(t: TestContext) {
  const folder = quickFolder();
  let current = openDirectory(folder, config);
  t.after(() => {
    current.close();
    rmSync(folder, { recursive: true, force: true });
  });
  function reopen(isRebuild = false): Directory {
    current.close();
    current = openDirectory(folder, config, { isRebuild });
    return current;
  }

  /** The tables are what verify makes of the log, and what a rebuild makes of it, byte for byte. */
  function assertRebuilt(): void {
    assert.equal(findingIn(folder), null);
    const before = dumpFile(current.readFile);
    assert.equal(reopen(true).rebuilt, true);
    assert.equal(dumpFile(current.readFile), before);
  }

  return { folder, directory: current, reopen, assertRebuilt };
}

function sidsOf({ accounts }: Directory, slug: string, id: string): string[] {
  return accounts.sessions(category(slug), id).map(({ sid }) => sid);
}

describe('a session', () => {
  it('is found by its sid and with its account, with what is known of where it was started', (t) => {
    const { directory } = open(t);
    const { accounts } = directory;
    const user = accountOf(directory, 'users', '1');
    user.setPassword('c1');
    const { header } = user.start('s1', 'c1', later, { ip: '192.0.2.1', userAgent: 'curl/8' });
    const session = {
      sid: 's1',
      category: 'users',
      id: '1',
      startedAt: Date.parse(header.recordedAt),
      refreshedAt: null,
      expiresAt: atLater,
      ip: '192.0.2.1',
      userAgent: 'curl/8',
    };
    assert.deepEqual(sessionIn(accounts, 's1'), session);
    assert.deepEqual([accounts.holder('s1'), accounts.holder('s9')], [`${session.category}/${session.id}`, null]);
    user.start('s2', 'c1');
    const second = sessionIn(accounts, 's2');
    assert.deepEqual([second?.ip, second?.userAgent], [null, null]);
    assert.deepEqual(accounts.sessions(category('users'), '1'), [session, second]);
    assert.equal(sessionIn(accounts, 's3'), null);
    assert.deepEqual(accounts.sessions(category('staff'), '1'), []);
  });

  it('that was refreshed lives longer, and tells when that was', (t) => {
    const { directory } = open(t);
    const user = accountOf(directory, 'users', '1');
    user.setPassword('c1');
    user.start('s1', 'c1', '2026-12-01T00:00:00.000Z');
    const { header } = user.refresh('s1', later);
    const session = sessionIn(directory.accounts, 's1');
    assert.equal(session?.expiresAt, atLater);
    assert.equal(session?.refreshedAt, Date.parse(header.recordedAt));
    assert.ok((session?.startedAt ?? Number.NaN) < (session?.refreshedAt ?? Number.NaN));
  });

  it('is never begun with a password that was changed while its login was under way', (t) => {
    const { directory } = open(t);
    const user = accountOf(directory, 'users', '1');
    user.start('before any password', 'c1');
    user.setPassword('c1');
    user.setPassword('c2');
    user.start('with the old one', 'c1');
    user.start('with the new one', 'c2');
    accountOf(directory, 'staff', '1').start('of somebody else', 'c2');
    assert.deepEqual(sidsOf(directory, 'users', '1'), ['with the new one']);
    assert.deepEqual(sidsOf(directory, 'staff', '1'), []);
  });

  it('ends when it is revoked, alone or with all others of its account', (t) => {
    const { directory } = open(t);
    const user = accountOf(directory, 'users', '1');
    const namesake = accountOf(directory, 'staff', '1');
    user.setPassword('c1');
    namesake.setPassword('c2');
    for (const sid of ['s1', 's2', 's3']) user.start(sid, 'c1');
    namesake.start('n1', 'c2');
    user.revoke({ sid: 's2' });
    assert.deepEqual(sidsOf(directory, 'users', '1'), ['s1', 's3']);
    user.revoke({});
    assert.deepEqual(sidsOf(directory, 'users', '1'), []);
    assert.deepEqual(sidsOf(directory, 'staff', '1'), ['n1']);
  });

  it('is out of the reach of other accounts', (t) => {
    const { directory } = open(t);
    const user = accountOf(directory, 'users', '1');
    const namesake = accountOf(directory, 'staff', '1');
    user.setPassword('c1');
    namesake.setPassword('c2');
    user.start('s1', 'c1', later);
    namesake.revoke({ sid: 's1' });
    namesake.refresh('s1', past);
    namesake.start('s1', 'c2', past);
    assert.equal(sessionIn(directory.accounts, 's1')?.category, 'users');
    assert.equal(sessionIn(directory.accounts, 's1')?.expiresAt, atLater);
  });

  it('ends with a change of the password, but for the one that made it', (t) => {
    const { directory } = open(t);
    const user = accountOf(directory, 'users', '1');
    user.setPassword('c1');
    for (const sid of ['s1', 's2', 's3']) user.start(sid, 'c1');
    user.setPassword('c2', { keeps: 's2' });
    assert.deepEqual(sidsOf(directory, 'users', '1'), ['s2']);
    user.setPassword('c3');
    assert.deepEqual(sidsOf(directory, 'users', '1'), []);
  });

  it('ends with the document of its user, and no other session with it', (t) => {
    const { directory, folder } = open(t);
    const ids = [directory.create('users', { name: 'a' }), directory.create('users', { name: 'b' })] as const;
    for (const id of ids) {
      const user = accountOf(directory, 'users', id);
      user.setPassword(`c ${id}`);
      user.start(`s ${id}`, `c ${id}`);
    }
    directory.remove('users', ids[0]);
    assert.equal(sessionIn(directory.accounts, `s ${ids[0]}`), null);
    assert.equal(directory.accounts.account(category('users'), ids[0]), null);
    assert.deepEqual(directory.accounts.credentials(), new Set([`c ${ids[1]}`]));
    assert.deepEqual(sidsOf(directory, 'users', ids[1]), [`s ${ids[1]}`]);
    assert.equal(findingIn(folder), null);
  });

  it('that has expired is not kept for ever: the next login of anybody takes it away', (t) => {
    const { directory } = open(t);
    const user = accountOf(directory, 'users', '1');
    user.setPassword('c1');
    user.start('s1', 'c1', past);
    user.start('s2', 'c1', later);
    assert.deepEqual(sidsOf(directory, 'users', '1'), ['s2']);
    user.start('s3', 'c1', past);
    user.fail();
    assert.deepEqual(sidsOf(directory, 'users', '1'), ['s2', 's3']);
    accountOf(directory, 'staff', '9').start('refused', 'none');
    assert.deepEqual(sidsOf(directory, 'users', '1'), ['s2']);
  });
});

describe('an account', () => {
  it('that a clock has begun or refreshed which was ahead ends when that is corrected', (t) => {
    const { directory, assertRebuilt } = open(t);
    const user = accountOf(directory, 'users', '1');
    const years = 20 * 365 * 24 * 3600 * 1000;
    const ahead = '2047-01-01T00:00:00.000Z';
    user.setPassword('c1');
    for (const sid of ['s1', 's2']) user.start(sid, 'c1');
    setClock(years);
    // A session that has expired removes no others.
    user.start('s3', 'c1');
    for (const sid of ['s2', 's3']) user.refresh(sid, ahead);
    assert.deepEqual(sidsOf(directory, 'users', '1').sort(), ['s1', 's2', 's3']);
    setClock(-years);
    const [corrected] = directory.record(of('system/clock')('clock.corrected', { from: 4, before: ahead }));
    assert.ok((corrected?.header.recordedAt ?? '') < later);
    assert.deepEqual(sidsOf(directory, 'users', '1'), ['s1']);
    user.start('s4', 'c1');
    assert.deepEqual(sidsOf(directory, 'users', '1').sort(), ['s1', 's4']);
    assertRebuilt();
  });

  it('is there from its first event on, with the version of its stream, whatever the events are', (t) => {
    const { directory } = open(t);
    const { accounts } = directory;
    const user = accountOf(directory, 'users', '1');
    assert.equal(accounts.account(category('users'), '1'), null);
    user.fail();
    assert.deepEqual(accounts.account(category('users'), '1'), {
      version: 1,
      credential: null,
      reset: null,
      lastLoginAt: null,
    });
    user.setPassword('c1');
    user.askReset('r1');
    assert.deepEqual(accounts.account(category('users'), '1'), {
      version: 3,
      credential: 'c1',
      reset: { id: 'r1', expiresAt: atLater },
      lastLoginAt: null,
    });
    const event = directory.accounts.waitingMails()[0]?.event as string;
    for (const change of [
      user.change('login.succeeded'),
      user.change('account.locked', { until: later }),
      user.change('account.unlocked'),
      user.change('session.revoked', { sid: 'none' }),
      user.change('email.sent', { mail: 'passwordReset', event }),
    ]) {
      directory.record(change);
    }
    assert.equal(accounts.account(category('users'), '1')?.version, 8);
    assert.equal(
      accounts.account(category('users'), '1')?.version,
      directory.log.versionOf(accountStream(category('users'), '1')),
    );
  });

  it('has one reset at a time, the newest, until its password is changed by any way', (t) => {
    const { directory } = open(t);
    const { accounts } = directory;
    const user = accountOf(directory, 'users', '1');
    user.askReset('r1');
    user.askReset('r2', past);
    assert.deepEqual(accounts.account(category('users'), '1')?.reset, { id: 'r2', expiresAt: Date.parse(past) });
    user.setPassword('c1');
    assert.equal(accounts.account(category('users'), '1')?.reset, null);
    user.askReset('r3');
    user.setPassword('c2', { reset: 'r3' });
    assert.deepEqual(accounts.account(category('users'), '1'), {
      version: 5,
      credential: 'c2',
      reset: null,
      lastLoginAt: null,
    });
  });

  it("'s credential is the one of its newest password, so that the vault can tell what is left over", (t) => {
    const { directory } = open(t);
    accountOf(directory, 'users', '1').setPassword('c1');
    accountOf(directory, 'users', '1').setPassword('c2');
    accountOf(directory, 'staff', '1').setPassword('c3');
    accountOf(directory, 'staff', '2').fail();
    assert.deepEqual(directory.accounts.credentials(), new Set(['c2', 'c3']));
  });

  it('is set up once per collection, which the version of that stream tells', (t) => {
    const { directory } = open(t);
    const { accounts, record, append } = directory;
    assert.equal(accounts.setupVersion(category('users')), 0);
    const setup = of(setupStream(category('users')))('setup.completed', { account: 'users/1' }, 0);
    record(accountOf(directory, 'users', '1').change('password.changed', { credential: 'c1' }), {
      otherStreams: [setup],
    });
    assert.equal(accounts.setupVersion(category('users')), 1);
    assert.equal(accounts.setupVersion(category('staff')), 0);
    const rival = accountOf(directory, 'users', '2').change('password.changed', { credential: 'c2' });
    assert.deepEqual(append(rival, { otherStreams: [setup] }), { ok: false, conflict: 'version', version: 1 });
  });
});

describe('an invitation', () => {
  it('is found by its id until it is accepted, with the version of its stream', (t) => {
    const { directory } = open(t);
    const { accounts, record } = directory;
    const { header } = inviteTo(directory, 'users', 'i1', 'a@example.com');
    const createdAt = Date.parse(header.recordedAt);
    const about = { category: 'users', email: 'a@example.com', inviter: 'users/9', createdAt };
    const invite = { id: 'i1', ...about, expiresAt: atLater, version: 1 };
    assert.deepEqual(accounts.invite('i1'), invite);
    const stream = of(inviteStream(category('users'), 'i1'));
    record(stream('email.sent', { mail: 'invitation', event: header.id }));
    assert.deepEqual(accounts.invite('i1'), { ...invite, version: 2 });
    record(stream('invite.accepted', { account: 'users/1' }, 2));
    assert.equal(accounts.invite('i1'), null);
    assert.equal(accounts.account(category('users'), 'invites'), null);
  });

  it('gives way to a newer one to the same address in the same collection', (t) => {
    const { directory } = open(t);
    inviteTo(directory, 'users', 'i1', 'a@example.com');
    inviteTo(directory, 'users', 'i2', 'b@example.com');
    inviteTo(directory, 'staff', 'i3', 'a@example.com');
    inviteTo(directory, 'users', 'i4', 'a@example.com');
    const there = ['i1', 'i2', 'i3', 'i4'].filter((id) => directory.accounts.invite(id));
    assert.deepEqual(there, ['i2', 'i3', 'i4']);
    const mails = directory.accounts.waitingMails().map(({ token }) => token);
    assert.deepEqual(mails, ['i2', 'i3', 'i4'], 'the mail of the one that was replaced does not go out');
  });

  it('that has expired is not kept for ever: the next one to anybody takes it away', (t) => {
    const { directory } = open(t);
    inviteTo(directory, 'users', 'i1', 'a@example.com', past);
    assert.equal(directory.accounts.invite('i1')?.expiresAt, Date.parse(past));
    inviteTo(directory, 'staff', 'i2', 'b@example.com');
    assert.equal(directory.accounts.invite('i1'), null);
    assert.deepEqual(
      directory.accounts.waitingMails().map(({ token }) => token),
      ['i2'],
    );
  });
});

describe('a mail', () => {
  it('waits from the event that asks for it, oldest first, with what it takes to write it', (t) => {
    const { directory } = open(t);
    const { accounts, record } = directory;
    const user = accountOf(directory, 'users', '1');
    const since = ({ header }: RecordedEvent) => {
      const { id: event, position, stream, recordedAt } = header;
      return { event, position, stream, since: Date.parse(recordedAt) };
    };
    const invited = inviteTo(directory, 'users', 'i1', 'a@example.com');
    const asked = user.askReset('r1');
    const both = { expiresAt: atLater, category: 'users', about: null };
    assert.deepEqual(accounts.waitingMails(), [
      { kind: 'invitation', ...both, id: null, email: 'a@example.com', token: 'i1', ...since(invited) },
      { kind: 'passwordReset', ...both, id: '1', email: null, token: 'r1', ...since(asked) },
    ]);
    const accept = of(inviteStream(category('users'), 'i1'))('invite.accepted', { account: 'users/2' });
    const accepted = record(accept)[0] as RecordedEvent;
    const reset = user.setPassword('c1', { reset: 'r1' });
    user.setPassword('c2');
    const neither = { category: 'users', email: null, token: null, expiresAt: null, about: null };
    assert.deepEqual(accounts.waitingMails(), [
      { kind: 'welcome', ...neither, id: '2', ...since(accepted) },
      { kind: 'passwordChanged', ...neither, id: '1', ...since(reset) },
    ]);
  });

  it('that was sent or given up is not sent again, not after a restart and not after a rebuild', (t) => {
    const { directory, reopen } = open(t);
    const user = accountOf(directory, 'users', '1');
    const other = accountOf(directory, 'users', '2');
    const sent = user.askReset('r1').header.id;
    const failed = other.askReset('r2').header.id;
    const waits = accountOf(directory, 'users', '3').askReset('r3').header.id;
    directory.record(user.change('email.sent', { mail: 'passwordReset', event: sent }));
    directory.record(other.change('email.failed', { mail: 'passwordReset', event: failed, reason: 'no such address' }));
    const waiting = ({ accounts }: Directory) => accounts.waitingMails().map(({ event }) => event);
    assert.deepEqual(waiting(directory), [waits]);
    assert.deepEqual(waiting(reopen()), [waits]);
    assert.deepEqual(waiting(reopen(true)), [waits]);
  });

  it('waits no longer when its token opens nothing any more', (t) => {
    const { directory } = open(t);
    const tokens = () => directory.accounts.waitingMails().map(({ token }) => token);
    const user = accountOf(directory, 'users', '1');
    user.askReset('r1');
    user.askReset('r2');
    assert.deepEqual(tokens(), ['r2'], 'a newer one was asked for');
    user.setPassword('c1');
    assert.deepEqual(tokens(), [], 'the password was changed in another way');
    const id = directory.create('users', { name: 'a' });
    accountOf(directory, 'users', id).askReset('r3');
    directory.remove('users', id);
    assert.deepEqual(tokens(), [], 'there is no account any more');
  });
});

/** A bit of everything, over several accounts and both collections. */
function fill(directory: Directory): void {
  const id = directory.create('users', { name: 'a' });
  const user = accountOf(directory, 'users', id);
  const invite = of(inviteStream(category('staff'), 'i0'));
  inviteTo(directory, 'staff', 'i0', 'z@example.com');
  directory.record(accountOf(directory, 'staff', '7').change('password.changed', { credential: 'c7' }), {
    context: { ip: '192.0.2.7', userAgent: 'Ünïcode' },
    otherStreams: [
      invite('invite.accepted', { account: 'staff/7' }, 1),
      accountOf(directory, 'staff', '7').change('session.started', { sid: 's7', credential: 'c7', expiresAt: later }),
      of(setupStream(category('staff')))('setup.completed', { account: 'staff/7' }, 0),
    ],
  });
  user.setPassword('c1');
  user.start('s1', 'c1');
  user.start('s2', 'c1', past);
  user.refresh('s1', '2027-02-01T00:00:00.000Z');
  user.fail();
  user.askReset('r1');
  inviteTo(directory, 'users', 'i1', 'a@example.com');
  directory.update('users', id, { name: 'b' });
}

describe('the tables about accounts', () => {
  it('are what a rebuild and verify make of the log, byte for byte', (t) => {
    const { directory, assertRebuilt } = open(t);
    fill(directory);
    assertRebuilt();
  });

  it('are caught up with what was recorded before a crash', (t) => {
    const { directory, reopen, folder } = open(t);
    fill(directory);
    const user = accountOf(directory, 'users', '5');
    const start = user.change('session.started', { sid: 's5', credential: 'c5', expiresAt: later });
    directory.append(user.change('password.changed', { credential: 'c5' }), { otherStreams: [start] });
    assert.equal(sessionIn(directory.accounts, 's5'), null);
    const next = reopen();
    assert.equal(next.rebuilt, false);
    assert.equal(sessionIn(next.accounts, 's5')?.id, '5');
    assert.equal(findingIn(folder), null);
  });

  it('are checked: verify finds a row that was changed, added or taken away in any of them', (t) => {
    const { directory, folder } = open(t);
    fill(directory);
    const changes: { [table in (typeof accountTables)[number]]: readonly [change: string, add: string] } = {
      accounts: ["credential = 'stolen'", "'accounts/users/9', 1, NULL, NULL, NULL, NULL, NULL"],
      sessions: ['expires_at = expires_at + 1', "'s9', 'users', '1', 1, NULL, 2, NULL, NULL"],
      invites: ["email = 'thief@example.com'", "'i9', 'users', 'thief@example.com', 'users/9', 1, 1, 1"],
      mails: ['since = since - 1', "999, 'e9', 'x', 'welcome', 'users', '1', NULL, NULL, NULL, 1, NULL"],
    };
    for (const table of accountTables) {
      const [change, add] = changes[table];
      for (const sql of [
        `UPDATE ${table} SET ${change}`,
        `INSERT INTO ${table} VALUES (${add})`,
        `DELETE FROM ${table}`,
      ]) {
        const file = openDatabase(directory.readFile);
        const rows = file.prepare(`SELECT * FROM ${table}`).raw().all() as unknown[][];
        assert.ok(rows.length > 0);
        assert.ok(file.prepare(sql).run().changes > 0);
        assert.match(findingIn(folder) ?? 'nothing', new RegExp(`^read tables: table "${table}"`), sql);
        file.exec(`DELETE FROM ${table}`);
        const insert = file.prepare(`INSERT INTO ${table} VALUES (${rows[0]?.map(() => '?').join(', ')})`);
        for (const row of rows) insert.run(...row);
        file.close();
        assert.equal(findingIn(folder), null);
      }
    }
  });

  it('end what an erased event may have ended, and begin nothing that it may have begun', (t) => {
    const { directory } = open(t);
    const user = accountOf(directory, 'users', '1');
    const other = accountOf(directory, 'users', '2');
    const [, last = 0] = [user, other].map((account, index) => {
      account.setPassword(`c${index}`);
      return Date.parse(account.start(`s${index}`, `c${index}`).header.recordedAt);
    });
    const erased = [
      user.revoke({ sid: 'another' }),
      user.start('s9', 'c0'),
      user.askReset('r9'),
      user.fail(),
      other.setPassword('c9', { keeps: 's1', reset: 'r' }),
      other.refresh('s1', later),
      inviteTo(directory, 'users', 'i9', 'a@example.com'),
      directory.record(
        of(inviteStream(category('users'), 'i8'))('invite.accepted', { account: 'users/8' }),
      )[0] as RecordedEvent,
      directory.record(user.change('email.sent', { mail: 'welcome', event: 'none' }))[0] as RecordedEvent,
    ];
    // Each event as a reader of the log has it after its erasure.
    const gone = new Set(erased.map(({ header }) => header.position));
    const { size, root } = directory.log.head();
    const events = directory.log
      .range(0, size)
      .map((event) => (gone.has(event.header.position) ? { ...event, data: null, context: null } : event));
    const read = openDatabase(':memory:');
    const tables = tablesOf(directory.schema);
    createTables(read, tables);
    openProjector(read, { tables, upcaster: compileUpcaster([]) }).apply(events, root);
    const accounts = openAccounts(read);
    assert.deepEqual(
      [sessionIn(accounts, 's0'), sessionIn(accounts, 's1'), sessionIn(accounts, 's9')],
      [null, null, null],
    );
    // The time of an event is in its header, which stays.
    const begun = Date.parse(erased[1]?.header.recordedAt ?? '');
    assert.deepEqual(accounts.account(category('users'), '1'), {
      version: 7,
      credential: 'c0',
      reset: null,
      lastLoginAt: begun,
    });
    assert.deepEqual(accounts.account(category('users'), '2'), {
      version: 4,
      credential: null,
      reset: null,
      lastLoginAt: last,
    });
    assert.equal(accounts.invite('i9'), null);
    assert.deepEqual(accounts.waitingMails(), []);
  });
});
