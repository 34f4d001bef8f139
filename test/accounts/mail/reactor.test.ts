import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { SMTPServerOptions } from 'smtp-server';
import { checkConfig } from '../../../config/check.ts';
import type { MailKind, MailTemplate, Model, User } from '../../../config/model.ts';
import { accountStream, inviteStream } from '../../../events/facts/catalogue.ts';
import type { Append, Command } from '../../../events/facts/log.ts';
import type { WaitingMail } from '../../../projections/tables/accounts.ts';
import { type Reactor, type ReactorInput, startReactor } from '../../../server/accounts/mail/reactor.ts';
import { type Mailer, type OutgoingMail, openMail, Undeliverable } from '../../../server/accounts/mail/transport.ts';
import { category } from '../../helpers/category.ts';
import { eventually } from '../../helpers/shared.ts';
import { type LogLine, openLog, reply, startPostOffice } from './post-office.ts';

const baseUrl = 'https://cms.example.org';
const soon = [0.01] as const;

/** Everything that a reactor works on: a log and read tables that do what the real ones do for mails. */
type World = {
  waiting: WaitingMail[];
  recorded: Command[];
  users: Map<string, User>;
  lines: LogLine[];
  /** The recorded events, as type, mail and reason. */
  endings: () => unknown[];
  ask: (kind: MailKind, parts?: Partial<WaitingMail>) => WaitingMail;
  start: (mailer: Mailer, input?: Partial<ReactorInput>) => Reactor;
  model: Model;
};

function worldOf(t: TestContext): World {
  const urls = { login: `${baseUrl}/login` };
  const model = checkConfig({ collections: [{ slug: 'editors', auth: true, urls, fields: [] }] });
  const waiting: WaitingMail[] = [];
  const recorded: Command[] = [];
  const users = new Map<string, User>();
  const { log, lines } = openLog();
  let position = 0;

  function ask(kind: MailKind, parts: Partial<WaitingMail> = {}): WaitingMail {
    position += 1;
    const id = `user-${position}`;
    const isInvitation = kind === 'invitation';
    const hasToken = isInvitation || kind === 'passwordReset';
    if (!isInvitation) users.set(id, { id, collection: 'editors', email: `${id}@example.org` });
    const mail: WaitingMail = {
      event: `0198c1de-0000-7000-8000-${String(position).padStart(12, '0')}`,
      position,
      stream: isInvitation
        ? inviteStream(category('editors'), `invite-${position}`)
        : accountStream(category('editors'), id),
      kind,
      category: category('editors'),
      id: isInvitation ? null : id,
      email: isInvitation ? `guest-${position}@example.org` : null,
      token: hasToken ? `token-id-${position}` : null,
      expiresAt: hasToken ? Date.now() + 3_600_000 : null,
      since: Date.now(),
      about: null,
      ...parts,
    };
    waiting.push(mail);
    return mail;
  }

  const append: Append = async (command) => {
    await turn();
    recorded.push(command);
    const ended = command.events.map(({ data }) => data.event);
    waiting.splice(0, waiting.length, ...waiting.filter(({ event }) => !ended.includes(event)));
    return { ok: true, position: recorded.length, version: recorded.length, recordedAt: '' };
  };

  function start(mailer: Mailer, input: Partial<ReactorInput> = {}): Reactor {
    const reactor = startReactor({
      model,
      baseUrl,
      accounts: { waitingMails: () => [...waiting] },
      userOf: (_slug, id) => users.get(id) ?? null,
      token: (kind, slug, id) => `${kind}.${slug}.${id}`,
      eventAt: () => null,
      append,
      mailer,
      log,
      retrySeconds: soon,
      ...input,
    });
    t.after(async () => {
      await reactor.close();
      await mailer.close();
    });
    return reactor;
  }

  const endings = () =>
    recorded.flatMap(({ events }) =>
      events.map(({ type, data }) => [type, data.mail, ...(data.reason ? [data.reason] : [])]),
    );
  return { waiting, recorded, users, lines, endings, ask, start, model };
}

async function mailerTo(port: number, options: object = {}): Promise<Mailer> {
  const { log } = openLog();
  const email = { from: 'cms@example.org', transport: { host: '127.0.0.1', port, ...options } };
  return openMail({ email, smtpUrl: undefined, from: undefined, isProduction: true, log });
}

/** Lets everything happen that waits for no timer. */
async function settle(): Promise<void> {
  for (let count = 0; count < 20; count += 1) await turn();
}

/** A way out that a test decides about, mail by mail. */
function ownMailer(send: (mail: OutgoingMail) => Promise<void>): Mailer {
  return { send, close: async () => {} };
}

/** A mail server that refuses as often as it is said, and then takes the mail. */
function refusingOnce(refusals: Error[]): SMTPServerOptions {
  return {
    onRcptTo: (_address, _session, callback) => callback(refusals.shift() ?? null),
  };
}

describe('Mails that wait (6)', () => {
  it('are sent to those whom they are for, with their links, and recorded', async (t) => {
    const { port, received } = await startPostOffice(t);
    const world = worldOf(t);
    const asked = (['invitation', 'welcome', 'passwordReset', 'passwordChanged'] as const).map((kind) =>
      world.ask(kind),
    );
    world.start(await mailerTo(port));
    await eventually(() => world.waiting.length === 0);

    const sent = new Map(received.map(({ to, email }) => [to[0], email.text]));
    const { login } = world.model.collections.get('editors')?.urls ?? {};
    const links: Record<string, string | undefined> = {
      'guest-1@example.org': `${baseUrl}/admin/accept-invite?token=invite.editors.token-id-1`,
      'user-2@example.org': login,
      'user-3@example.org': `${baseUrl}/admin/reset?token=reset.editors.token-id-3`,
      'user-4@example.org': login,
    };
    assert.equal(received.length, 4);
    for (const [address, link] of Object.entries(links)) {
      assert.ok(sent.get(address)?.split('\n').includes(String(link)), sent.get(address) ?? `none to ${address}`);
    }
    const byEvent = new Map(world.recorded.map((command) => [command.correlationId, command]));
    for (const { event, stream, kind } of asked) {
      assert.deepEqual(byEvent.get(event), {
        stream,
        expectedVersion: null,
        events: [{ type: 'email.sent', data: { mail: kind, event } }],
        claims: [],
        releases: [],
        actor: { type: 'system' },
        correlationId: event,
        context: {},
      });
    }
  });

  it('are sent at once when something says that there are new ones', async (t) => {
    const { port, received } = await startPostOffice(t);
    const world = worldOf(t);
    const reactor = world.start(await mailerTo(port), { sweepSeconds: 3600 });
    world.ask('welcome');
    reactor.wake();
    await eventually(() => received.length === 1);
  });

  it('are found by and by when nothing says so', async (t) => {
    const { port, received } = await startPostOffice(t);
    const world = worldOf(t);
    world.start(await mailerTo(port), { sweepSeconds: 0.02 });
    await turn();
    world.ask('welcome');
    await eventually(() => received.length === 1);
  });

  it('are sent once each, however often it is asked for, and a few at a time', async (t) => {
    const world = worldOf(t);
    const sent: string[] = [];
    let [now, most] = [0, 0];
    const mailer = ownMailer(async ({ event }) => {
      now += 1;
      most = Math.max(most, now);
      await turn();
      await turn();
      sent.push(event);
      now -= 1;
    });
    const asked = Array.from({ length: 40 }, () => world.ask('welcome').event);
    const reactor = world.start(mailer);
    for (let count = 0; count < 1000 && world.waiting.length > 0; count += 1) {
      reactor.wake();
      await turn();
    }
    assert.deepEqual([...sent].sort(), asked);
    assert.equal(world.recorded.length, 40);
    assert.equal(most, 4);
  });

  it('go out in the order in which they were asked for', async (t) => {
    const world = worldOf(t);
    const begun: string[] = [];
    const asked = Array.from({ length: 10 }, () => world.ask('welcome').event);
    world.start(ownMailer(async ({ event }) => void begun.push(event)));
    await eventually(() => world.waiting.length === 0);
    assert.deepEqual(begun, asked);
  });

  it('use the templates of the configuration, and go out without one that fails', async (t) => {
    const { port, received } = await startPostOffice(t);
    const world = worldOf(t);
    const welcome: MailTemplate = {
      subject: ({ user, url }) => `Hello ${user?.name}\r\nX-Evil: 1 ${url}`,
      text: () => {
        throw new Error('no such layout');
      },
    };
    world.model.email = { templates: { welcome } };
    const { id } = world.ask('welcome');
    world.users.set(String(id), { id: String(id), collection: 'editors', email: 'ada@example.org', name: 'Ada' });
    world.start(await mailerTo(port));
    await eventually(() => world.waiting.length === 0);
    assert.equal(received[0]?.email.subject, `Hello Ada X-Evil: 1 ${baseUrl}/login`);
    assert.match(String(received[0]?.email.text), /Your account is ready/);
    assert.deepEqual(world.endings(), [['email.sent', 'welcome']]);
    assert.deepEqual(
      world.lines.map(({ level, part }) => [level, part]),
      [[50, 'text']],
    );
  });
});

describe('A mail that cannot be sent now', () => {
  it('is sent when the mail server is back', async (t) => {
    const gone = await startPostOffice(t);
    await gone.close();
    const world = worldOf(t);
    world.ask('passwordReset');
    world.start(await mailerTo(gone.port));
    await eventually(() => world.lines.length >= 3);
    assert.deepEqual(world.endings(), []);
    const { received } = await startPostOffice(t, {}, gone.port);
    await eventually(() => world.waiting.length === 0);
    assert.equal(received.length, 1);
    assert.deepEqual(world.endings(), [['email.sent', 'passwordReset']]);
  });

  it('is sent when the mail server no longer hangs', async (t) => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const world = worldOf(t);
    world.ask('welcome');
    world.start(await mailerTo(port, { greetingTimeout: 1000 }));
    await eventually(() => world.lines.length >= 2);
    for (const socket of sockets) socket.destroy();
    silent.close();
    await once(silent, 'close');
    const { received } = await startPostOffice(t, {}, port);
    await eventually(() => world.waiting.length === 0);
    assert.equal(received.length, 1);
  });

  it('is sent when the server takes it after it has put it off', async (t) => {
    const { port, received } = await startPostOffice(t, refusingOnce([reply(450, 'later'), reply(451, 'later')]));
    const world = worldOf(t);
    world.ask('welcome');
    world.start(await mailerTo(port));
    await eventually(() => world.waiting.length === 0);
    assert.equal(received.length, 1);
    assert.deepEqual(
      world.lines.map(({ level, mail, attempt }) => [level, mail, attempt]),
      [
        [40, 'welcome', 1],
        [40, 'welcome', 2],
      ],
    );
  });

  it('is sent when the operator has mended the login', async (t) => {
    let isMended = false;
    const { port, received } = await startPostOffice(t, {
      authOptional: false,
      onAuth: (_auth, _session, callback) =>
        isMended ? callback(null, { user: 'cms' }) : callback(reply(535, 'wrong password')),
    });
    const world = worldOf(t);
    world.ask('invitation');
    world.start(await mailerTo(port, { auth: { user: 'cms', pass: 'secret' } }));
    await eventually(() => world.lines.length >= 2);
    assert.deepEqual(world.endings(), []);
    isMended = true;
    await eventually(() => world.waiting.length === 0);
    assert.equal(received.length, 1);
  });

  it('does not keep others waiting', async (t) => {
    const { port, received } = await startPostOffice(t, {
      onRcptTo: ({ address }, _session, callback) => callback(address.startsWith('guest') ? reply(450, 'later') : null),
    });
    const world = worldOf(t);
    for (let count = 0; count < 10; count += 1) world.ask('invitation');
    world.ask('welcome');
    world.start(await mailerTo(port));
    await eventually(() => received.length === 1);
  });

  it('is tried again after 5 seconds, half a minute, 2, 10 and 30 minutes, and then every hour', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: Date.parse('2027-01-01T00:00:00Z') });
    const world = worldOf(t);
    let attempts = 0;
    const mailer = ownMailer(async () => {
      attempts += 1;
      throw new Error('the server is down');
    });
    world.ask('welcome');
    world.start(mailer, { retrySeconds: undefined as never });
    await settle();
    assert.equal(attempts, 1);
    const minute = 60;
    for (const [index, seconds] of [5, 30, 2 * minute, 10 * minute, 30 * minute, 60 * minute, 60 * minute].entries()) {
      t.mock.timers.tick(seconds * 1000 - 1);
      await settle();
      assert.equal(attempts, index + 1, `too early before ${seconds} seconds`);
      t.mock.timers.tick(1);
      await settle();
      assert.equal(attempts, index + 2, `not after ${seconds} seconds`);
    }
    // Three days after it was asked for it is no news any longer.
    t.mock.timers.tick(3 * 24 * 3600 * 1000);
    await settle();
    assert.deepEqual(world.endings(), [['email.failed', 'welcome', 'gave up']]);
  });
});

describe('A mail that is of no use any longer', () => {
  it('is given up when its link has expired', async (t) => {
    const world = worldOf(t);
    let now = Date.now();
    let attempts = 0;
    const { expiresAt } = world.ask('passwordReset');
    const mailer = ownMailer(async () => {
      attempts += 1;
      if (attempts === 3) now = Number(expiresAt);
      throw new Error('the server is down');
    });
    world.start(mailer, { now: () => now });
    await eventually(() => world.waiting.length === 0);
    assert.equal(attempts, 3);
    assert.deepEqual(world.endings(), [['email.failed', 'passwordReset', 'gave up']]);
  });

  it('is given up when its link expires, not when it would have been tried again', async (t) => {
    const world = worldOf(t);
    world.ask('passwordReset', { expiresAt: Date.now() + 200 });
    const mailer = ownMailer(async () => {
      throw new Error('the server is down');
    });
    world.start(mailer, { retrySeconds: [3600], sweepSeconds: 3600 });
    await eventually(() => world.waiting.length === 0);
    assert.deepEqual(world.endings(), [['email.failed', 'passwordReset', 'gave up']]);
  });

  it('is not sent after a long rest of the service', async (t) => {
    const { port, received } = await startPostOffice(t);
    const world = worldOf(t);
    const day = 24 * 3600 * 1000;
    world.ask('invitation', { expiresAt: Date.now() - 1 });
    world.ask('passwordChanged', { since: Date.now() - 3 * day });
    world.ask('welcome', { since: Date.now() - 3 * day + 60_000 });
    world.start(await mailerTo(port));
    await eventually(() => world.waiting.length === 0);
    assert.equal(received.length, 1);
    assert.deepEqual(world.endings().sort(), [
      ['email.failed', 'invitation', 'gave up'],
      ['email.failed', 'passwordChanged', 'gave up'],
      ['email.sent', 'welcome'],
    ]);
  });

  it('is not sent when another has taken its place', async (t) => {
    const world = worldOf(t);
    const sent: string[] = [];
    const old = world.ask('passwordReset');
    const mailer = ownMailer(async ({ event }) => {
      sent.push(event);
      if (event === old.event) throw new Error('the server is down');
    });
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: Date.now() });
    const reactor = world.start(mailer, { retrySeconds: [60] });
    await settle();
    assert.equal(world.lines.length, 1);
    world.waiting.splice(0, 1);
    const newer = world.ask('passwordReset');
    reactor.wake();
    await settle();
    assert.equal(world.waiting.length, 0);
    t.mock.timers.tick(60_000);
    await settle();
    assert.deepEqual(sent, [old.event, newer.event]);
  });

  it('is recorded as failed when its account is gone', async (t) => {
    const { port, received } = await startPostOffice(t);
    const world = worldOf(t);
    world.users.delete(String(world.ask('passwordReset').id));
    const { id } = world.ask('welcome');
    world.users.set(String(id), { id: String(id), collection: 'editors', email: null });
    world.ask('invitation', { category: category('writers') });
    world.start(await mailerTo(port));
    await eventually(() => world.waiting.length === 0);
    assert.equal(received.length, 0);
    assert.deepEqual(world.endings().sort(), [
      ['email.failed', 'invitation', 'the account is gone'],
      ['email.failed', 'passwordReset', 'the account is gone'],
      ['email.failed', 'welcome', 'the account is gone'],
    ]);
  });

  it('is recorded as failed at once when the server refuses it for good, without the words of the server', async (t) => {
    const { port } = await startPostOffice(t, refusingOnce([reply(550, 'no mailbox user-1@example.org')]));
    const world = worldOf(t);
    world.ask('passwordReset');
    world.start(await mailerTo(port));
    await eventually(() => world.waiting.length === 0);
    assert.deepEqual(world.endings(), [['email.failed', 'passwordReset', 'the mail server refused it']]);
    assert.doesNotMatch(JSON.stringify(world.recorded), /example\.org|550|no mailbox/);
    assert.equal(world.lines.at(-1)?.level, 50);
    assert.match(JSON.stringify(world.lines.at(-1)?.err), /no mailbox/);
  });

  it('is recorded as failed when its address is no address', async (t) => {
    const { port, received } = await startPostOffice(t);
    const world = worldOf(t);
    world.ask('invitation', { email: 'ada@example.org, eve@example.net' });
    world.start(await mailerTo(port));
    await eventually(() => world.waiting.length === 0);
    assert.equal(received.length, 0);
    assert.deepEqual(world.endings(), [
      ['email.failed', 'invitation', 'the address is not one that mail can be sent to'],
    ]);
  });

  it('is recorded as failed, and logged, when mail is not configured', async (t) => {
    const world = worldOf(t);
    world.ask('invitation');
    const { log } = openLog();
    world.start(await openMail({ email: null, smtpUrl: undefined, from: undefined, isProduction: true, log }));
    await eventually(() => world.waiting.length === 0);
    assert.deepEqual(world.endings(), [['email.failed', 'invitation', 'mail is not configured']]);
    assert.deepEqual(
      world.lines.map(({ level, msg }) => [level, msg]),
      [[50, 'mail not sent: mail is not configured']],
    );
  });
});

describe('When the log or the read tables fail', () => {
  it('a mail that was sent is recorded later and not sent again', async (t) => {
    const { port, received } = await startPostOffice(t);
    const world = worldOf(t);
    world.ask('welcome');
    let refusals = 3;
    const ended: Command[] = [];
    const append: Append = async (command) => {
      refusals -= 1;
      if (refusals === 2) throw new Error('there is no room on the disk');
      if (refusals === 1) return { ok: false, conflict: 'version', version: 1 };
      ended.push(command);
      world.waiting.splice(0, 1);
      return { ok: true, position: 1, version: 1, recordedAt: '' };
    };
    world.start(await mailerTo(port), { append });
    await eventually(() => world.waiting.length === 0);
    assert.equal(received.length, 1);
    assert.deepEqual(
      ended.map(({ events }) => events[0]?.type),
      ['email.sent'],
    );
    assert.equal(world.lines.length, 2);
  });

  it('a mail that was given up is recorded later, and nothing spins until then', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: Date.parse('2027-01-01T00:00:00Z') });
    const world = worldOf(t);
    world.ask('invitation', { expiresAt: Date.now() - 1 });
    const tried: Command[] = [];
    const append: Append = async (command) => {
      tried.push(command);
      if (tried.length === 1) throw new Error('there is no room on the disk');
      world.waiting.splice(0, 1);
      return { ok: true, position: 1, version: 1, recordedAt: '' };
    };
    world.start(
      ownMailer(async () => {}),
      { append, retrySeconds: [3600] },
    );
    await settle();
    assert.equal(tried.length, 1);
    t.mock.timers.tick(3600 * 1000 - 1);
    await settle();
    assert.equal(tried.length, 1);
    t.mock.timers.tick(1);
    await settle();
    assert.deepEqual(
      tried.map(({ events }) => events[0]?.data.reason),
      ['gave up', 'gave up'],
    );
    assert.deepEqual(world.waiting, []);
  });

  it('a mail that was sent and recorded is not sent again while the tables still show it', async (t) => {
    const world = worldOf(t);
    world.ask('welcome');
    let sent = 0;
    const recorded: Command[] = [];
    const reactor = world.start(
      ownMailer(async () => {
        sent += 1;
      }),
      {
        append: async (command) => {
          recorded.push(command);
          return { ok: true, position: 1, version: 1, recordedAt: '' };
        },
      },
    );
    for (let count = 0; count < 50; count += 1) {
      reactor.wake();
      await turn();
    }
    assert.deepEqual([sent, recorded.length], [1, 1]);
  });

  it('it is looked again later', async (t) => {
    const { port, received } = await startPostOffice(t);
    const world = worldOf(t);
    world.ask('welcome');
    let failures = 2;
    const waitingMails = () => {
      failures -= 1;
      if (failures >= 0) throw new Error('the disk cannot be read');
      return [...world.waiting];
    };
    world.start(await mailerTo(port), { accounts: { waitingMails }, sweepSeconds: 0.02 });
    await eventually(() => received.length === 1);
    assert.equal(world.lines.filter(({ level }) => level === 50).length, 2);
  });

  it('a user who cannot be read now is written to later', async (t) => {
    const { port, received } = await startPostOffice(t);
    const world = worldOf(t);
    world.ask('welcome');
    let failures = 2;
    const userOf = (_slug: string, id: string): User | null => {
      failures -= 1;
      if (failures >= 0) throw new Error('the disk cannot be read');
      return world.users.get(id) ?? null;
    };
    world.start(await mailerTo(port), { userOf });
    await eventually(() => world.waiting.length === 0);
    assert.equal(received.length, 1);
  });
});

describe('When the service ends and starts again', () => {
  it('sends what was not sent, and nothing that was', async (t) => {
    const gone = await startPostOffice(t);
    const world = worldOf(t);
    world.ask('welcome');
    const first = world.start(await mailerTo(gone.port));
    await eventually(() => world.waiting.length === 0);
    await gone.close();
    world.ask('passwordReset');
    first.wake();
    await eventually(() => world.lines.length >= 1);
    await first.close();

    const { port, received } = await startPostOffice(t);
    world.start(await mailerTo(port));
    await eventually(() => world.waiting.length === 0);
    assert.deepEqual(
      received.map(({ to }) => to),
      [['user-2@example.org']],
    );
  });

  it('a mail that was sent and not recorded comes again under the same id', async (t) => {
    const { port, received } = await startPostOffice(t);
    const world = worldOf(t);
    world.ask('welcome');
    const append = () => new Promise<never>(() => {});
    const first = world.start(await mailerTo(port), { append, closeSeconds: 0.01 });
    await eventually(() => received.length === 1);
    await first.close();
    world.start(await mailerTo(port));
    await eventually(() => world.waiting.length === 0);
    assert.equal(received.length, 2);
    assert.equal(received[0]?.email.messageId, received[1]?.email.messageId);
  });

  it('finishes what is being sent, and begins nothing more', async (t) => {
    const world = worldOf(t);
    for (let count = 0; count < 10; count += 1) world.ask('welcome');
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    let begun = 0;
    const reactor = world.start(
      ownMailer(async () => {
        begun += 1;
        await gate;
      }),
    );
    await eventually(() => begun === 4);
    const closed = reactor.close();
    reactor.wake();
    open();
    await closed;
    assert.equal(world.recorded.length, 4);
    await turn();
    assert.equal(begun, 4);
  });

  it('does not wait for ever for a mail that is being sent', async (t) => {
    const world = worldOf(t);
    world.ask('welcome');
    let begun = 0;
    const reactor = world.start(
      ownMailer(() => {
        begun += 1;
        return new Promise(() => {});
      }),
      { closeSeconds: 0.01 },
    );
    await eventually(() => begun === 1);
    await reactor.close();
    assert.deepEqual(world.recorded, []);
  });
});

describe('The reason of a failure', () => {
  it('is that of the mailer, word for word', async (t) => {
    const world = worldOf(t);
    world.ask('welcome');
    world.start(
      ownMailer(async () => {
        throw new Undeliverable('some reason of ours');
      }),
    );
    await eventually(() => world.waiting.length === 0);
    assert.deepEqual(world.endings(), [['email.failed', 'welcome', 'some reason of ours']]);
  });
});
