import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { type Mailer, type MailSettings, openMail, Undeliverable } from '../../../server/accounts/mail/transport.ts';
import { UsageError } from '../../../server/settings/settings.ts';
import { mailOf, openLog, type Received, reply, startPostOffice } from './post-office.ts';

const from = 'The Editors <cms@example.org>';
/** Every connection waits a tenth of a second for the mail server's greeting, with nothing to do meanwhile. */
const concurrently = { concurrency: true };

async function opened(t: TestContext, settings: Partial<MailSettings>): Promise<Mailer> {
  const { log } = openLog();
  const mailer = await openMail({
    email: null,
    smtpUrl: undefined,
    from: undefined,
    isProduction: true,
    log,
    ...settings,
  });
  t.after(() => mailer.close());
  return mailer;
}

/** Opens mail through a server on this port. */
function openedTo(t: TestContext, port: number, options: object = {}): Promise<Mailer> {
  return opened(t, { email: { from, transport: { host: '127.0.0.1', port, ...options } } });
}

describe('A mail that is sent', concurrently, () => {
  it('arrives with its sender, its one recipient, its subject and both of its forms', async (t) => {
    const { port, received } = await startPostOffice(t);
    const mailer = await openedTo(t, port);
    const text = `Grüße, 世界\n.\n..\nFrom here on\n${'long '.repeat(400)}\n`;
    const html = `<p>Grüße, 世界</p>\n.\n<p>${'long '.repeat(400)}</p>\n`;
    await mailer.send(mailOf({ to: 'ada@example.org', subject: 'Grüße: 世界, "x" <y@example.net>', text, html }));
    const mail = received[0] as Received;
    assert.equal(received.length, 1);
    assert.equal(mail.from, 'cms@example.org');
    assert.deepEqual(mail.to, ['ada@example.org']);
    const { email } = mail;
    assert.deepEqual(email.from, { name: 'The Editors', address: 'cms@example.org' });
    assert.deepEqual(email.to, [{ name: '', address: 'ada@example.org' }]);
    assert.equal(email.subject, 'Grüße: 世界, "x" <y@example.net>');
    assert.equal(email.text?.trimEnd(), text.trimEnd());
    assert.equal(email.html?.trimEnd(), html.trimEnd());
    assert.ok(Number.isFinite(Date.parse(String(email.date))));
  });

  it('has an id that is the same when it is sent again, and says that a program wrote it', async (t) => {
    const { port, received } = await startPostOffice(t);
    const mailer = await openedTo(t, port);
    await mailer.send(mailOf());
    await mailer.send(mailOf());
    const ids = received.map(({ email }) => email.messageId);
    assert.deepEqual(ids, Array(2).fill('<0198c1de-0000-7000-8000-000000000001@example.org>'));
    const headers = new Map(received[0]?.email.headers.map(({ key, value }) => [key, value]));
    assert.equal(headers.get('auto-submitted'), 'auto-generated');
    assert.equal(headers.has('x-mailer'), false);
  });

  it('keeps a long link in one piece', async (t) => {
    const { port, received } = await startPostOffice(t);
    const mailer = await openedTo(t, port);
    const url = `https://cms.example.org/account/editors/reset-password?token=${'a-b_c.d='.repeat(60)}`;
    await mailer.send(
      mailOf({ text: `Choose a new password:\n${url}\n`, html: `<p><a href="${url}">${url}</a></p>\n` }),
    );
    const { email } = received[0] as Received;
    assert.ok(email.text?.split('\n').includes(url), String(email.text));
    assert.equal(email.html?.split(url).length, 3);
  });

  it('goes to a mailbox of a domain with letters beyond ASCII', async (t) => {
    const { port, received } = await startPostOffice(t);
    const mailer = await openedTo(t, port);
    await mailer.send(mailOf({ to: 'ada@bücher.example' }));
    assert.match(received[0]?.raw ?? '', /^To: ada@xn--bcher-kva\.example\r$/m);
  });

  it('has no header but ours, whatever its subject holds', async (t) => {
    const { port, received } = await startPostOffice(t);
    const mailer = await openedTo(t, port);
    await mailer.send(mailOf({ subject: 'Hello\r\nBcc: eve@example.net\r\n\r\n<script>' }));
    assert.deepEqual(received[0]?.to, ['ada@example.org']);
    assert.equal(received[0]?.email.bcc, undefined);
    assert.equal(received[0]?.email.text?.trim(), 'Hello');
    assert.doesNotMatch(received[0]?.raw ?? '', /^Bcc:|^<script>/im);
  });

  const addresses = [
    'ada@example.org, eve@example.net',
    'ada@example.org\r\nBcc: eve@example.net',
    'ada@example.org\r\nRCPT TO:<eve@example.net>',
    'ada@example.org> <eve@example.net',
    'Ada <ada@example.org>',
    'friends: eve@example.net;',
    '"eve@example.net,"@example.org',
    'eve@example.net@example.org',
    'ada@[127.0.0.1]',
    'ada(eve@example.net)@example.org',
    'ada @example.org',
    'ada\u00a0@example.org',
    'ada\u202e@example.org',
    'ada',
    '@example.org',
    'ada@',
    '',
  ];
  for (const to of addresses) {
    it(`never goes to ${JSON.stringify(to)}, which is no single address`, async (t) => {
      const { port, received } = await startPostOffice(t);
      const mailer = await openedTo(t, port);
      await assert.rejects(mailer.send(mailOf({ to })), Undeliverable);
      await mailer.send(mailOf());
      assert.deepEqual(
        received.map((mail) => mail.to),
        [['ada@example.org']],
      );
    });
  }

  it('reads no file and fetches no page that its text names', async (t) => {
    const { port, received } = await startPostOffice(t);
    const mailer = await openedTo(t, port);
    const html = { path: '/etc/hostname' } as unknown as string;
    await assert.rejects(mailer.send(mailOf({ html })), /access/i);
    assert.deepEqual(received, []);
  });
});

describe('A mail server that asks for a login', () => {
  const login = {
    authOptional: false,
    onAuth: (
      auth: { username?: string | undefined; password?: string | null | undefined },
      _session: unknown,
      callback: (error: Error | null, response?: { user: string }) => void,
    ) => {
      if (auth.username === 'cms' && auth.password === 'p@ss/word') callback(null, { user: 'cms' });
      else callback(reply(535, 'no such user'));
    },
  };

  it('gets the name and the password of an SMTP URL', async (t) => {
    const { port, received } = await startPostOffice(t, login);
    const mailer = await opened(t, { smtpUrl: `smtp://cms:p%40ss%2Fword@127.0.0.1:${port}`, from });
    await mailer.send(mailOf());
    assert.equal(received.length, 1);
  });

  it('can be given the right ones later: that it refuses us says nothing of the mail', async (t) => {
    const { port, received } = await startPostOffice(t, login);
    const wrong = await opened(t, { smtpUrl: `smtp://cms:wrong@127.0.0.1:${port}`, from });
    await assert.rejects(wrong.send(mailOf()), (error: Error) => !(error instanceof Undeliverable));
    const none = await opened(t, { smtpUrl: `smtp://127.0.0.1:${port}`, from });
    await assert.rejects(none.send(mailOf()), (error: Error) => !(error instanceof Undeliverable));
    assert.equal(received.length, 0);
  });
});

describe('A mail server that refuses', concurrently, () => {
  type Step = 'onMailFrom' | 'onRcptTo';
  const refusing = (step: Step, code: number) => ({
    [step]: (_address: unknown, _session: unknown, callback: (error: Error) => void) =>
      callback(reply(code, 'not here: ada@example.org')),
  });
  const atData = (code: number) => ({
    onData: (stream: NodeJS.ReadableStream, _session: unknown, callback: (error: Error) => void) => {
      stream.resume().on('end', () => callback(reply(code, 'not here: ada@example.org')));
    },
  });

  for (const [place, options] of Object.entries({
    sender: refusing('onMailFrom', 550),
    recipient: refusing('onRcptTo', 550),
    message: atData(554),
  })) {
    it(`the ${place} for good is not asked again, and its words are no reason to be recorded`, async (t) => {
      const { port } = await startPostOffice(t, options);
      const mailer = await openedTo(t, port);
      await assert.rejects(mailer.send(mailOf()), (error: Error) => {
        assert.ok(error instanceof Undeliverable);
        assert.equal(error.message, 'the mail server refused it');
        assert.match(String((error.cause as Error).message), /not here/);
        return true;
      });
    });
  }

  for (const [place, options] of Object.entries({
    'for now, at the sender': refusing('onMailFrom', 451),
    'for now, at the recipient': refusing('onRcptTo', 450),
    'for now, at the message': atData(452),
    'because it takes nothing from anybody': {
      onConnect: (_session: unknown, callback: (error: Error) => void) => callback(reply(554, 'closed')),
    },
    'because it wants a login': refusing('onMailFrom', 530),
    'because commands came out of order': refusing('onRcptTo', 503),
  })) {
    it(`${place} may be asked again`, async (t) => {
      const { port } = await startPostOffice(t, options);
      const mailer = await openedTo(t, port);
      await assert.rejects(mailer.send(mailOf()), (error: Error) => !(error instanceof Undeliverable));
    });
  }
});

describe('A mail server that speaks LMTP', () => {
  it('may refuse a mail for good after it has been sent', async (t) => {
    const { port } = await startPostOffice(t, {
      lmtp: true,
      onData: (stream, _session, callback) => {
        stream.resume().on('end', () => callback(null, [reply(550, 'no such mailbox')]));
      },
    });
    const mailer = await openedTo(t, port, { lmtp: true });
    await assert.rejects(mailer.send(mailOf()), Undeliverable);
  });
});

describe('A mail server that does not answer', () => {
  it('is given up after a while, whether it is down, says nothing or stops in the middle', async (t) => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket));
    const halting = createServer((socket) => {
      sockets.push(socket);
      socket.write('220 ready\r\n');
    });
    const down = createServer();
    const ports: number[] = [];
    for (const server of [silent, halting, down]) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      ports.push((server.address() as AddressInfo).port);
    }
    down.close();
    t.after(() => {
      for (const socket of sockets) socket.destroy();
      for (const server of [silent, halting]) server.close();
    });
    const timeouts = { connectionTimeout: 300, greetingTimeout: 300, socketTimeout: 300 };
    const sendTo = async (port: number) => (await openedTo(t, port, timeouts)).send(mailOf());
    const isForNow = (error: Error) => !(error instanceof Undeliverable);
    await Promise.all(ports.map((port) => assert.rejects(sendTo(port), isForNow)));
  });

  it('is given up when it never stops answering, and so is a transport of the author that hangs', async (t) => {
    const timers: NodeJS.Timeout[] = [];
    const sockets: Socket[] = [];
    const trickling = createServer((socket) => {
      sockets.push(socket.on('error', () => {}));
      timers.push(setInterval(() => socket.write('220-not yet\r\n'), 20));
    }).listen(0, '127.0.0.1');
    await once(trickling, 'listening');
    t.after(() => {
      for (const timer of timers) clearInterval(timer);
      for (const socket of sockets) socket.destroy();
      trickling.close();
    });
    const { port } = trickling.address() as AddressInfo;
    const hanging = { name: 'hanging', version: '1', send: () => {} };
    for (const transport of [{ host: '127.0.0.1', port, greetingTimeout: 60_000 }, hanging]) {
      const mailer = await opened(t, { email: { from, transport }, sendSeconds: 0.3 });
      await assert.rejects(mailer.send(mailOf()), (error: Error) => !(error instanceof Undeliverable));
    }
  });

  it('does not keep the process when it is closed', async (t) => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const mailer = await openedTo(t, (server.address() as AddressInfo).port, { greetingTimeout: 60_000 });
    const sending = assert.rejects(mailer.send(mailOf()));
    await once(server, 'connection');
    await mailer.close();
    await sending;
  });

  it('is not believed with a certificate without a trusted issuer', async (t) => {
    const { port, received } = await startPostOffice(t, { disabledCommands: [] });
    const mailer = await openedTo(t, port);
    await assert.rejects(mailer.send(mailOf()), /certificate/);
    assert.equal(received.length, 0);
    const trusting = await openedTo(t, port, { tls: { rejectUnauthorized: false } });
    await trusting.send(mailOf());
    assert.equal(received.length, 1);
  });
});

describe('The settings of mail', () => {
  it('of the environment win over those of the configuration', async (t) => {
    const [wanted, other] = [await startPostOffice(t), await startPostOffice(t)];
    const email = { from: 'other@example.net', transport: `smtp://127.0.0.1:${other.port}` };
    const mailer = await opened(t, { email, smtpUrl: `smtp://127.0.0.1:${wanted.port}`, from });
    await mailer.send(mailOf());
    assert.equal(wanted.received[0]?.from, 'cms@example.org');
    assert.equal(other.received.length, 0);
  });

  it('may be half in the environment and half in the configuration', async (t) => {
    const { port, received } = await startPostOffice(t);
    const url = `smtp://127.0.0.1:${port}`;
    await (await opened(t, { email: { transport: url }, from })).send(mailOf());
    await (await opened(t, { email: { from }, smtpUrl: url })).send(mailOf());
    assert.deepEqual(
      received.map((mail) => mail.from),
      ['cms@example.org', 'cms@example.org'],
    );
  });

  it('may name a sender with a comma or quotes in the name', async (t) => {
    const { port, received } = await startPostOffice(t);
    const mailer = await opened(t, {
      from: '"Doe, Jane (CMS) \\"J\\"" <cms@example.org>',
      smtpUrl: `smtp://127.0.0.1:${port}`,
    });
    await mailer.send(mailOf());
    assert.deepEqual(received[0]?.email.from, { name: 'Doe, Jane (CMS) "J"', address: 'cms@example.org' });
  });

  const wrong: Record<string, [settings: Partial<MailSettings>, message: RegExp]> = {
    'a transport without a sender': [{ smtpUrl: 'smtp://mail.example.org' }, /no sender; set ANNALS_MAIL_FROM/],
    'two senders': [{ email: { from: 'a@example.org, b@example.org', transport: {} } }, /^email\.from must be/],
    'a sender without an address': [{ from: 'The Editors', smtpUrl: 'smtp://a.example' }, /^ANNALS_MAIL_FROM must be/],
    'a sender with a header': [{ from: 'a@example.org\r\nBcc: b@example.org', smtpUrl: 'smtp://a.example' }, /must be/],
    'a URL in the place of the sender': [
      { from: 'smtp://cms:s3cret@a.example', smtpUrl: 'smtp://a.example' },
      /^ANNALS_MAIL_FROM must be/,
    ],
    'an invalid URL': [{ email: { from, transport: 'smtp://cms:s3cret@[' } }, /^email\.transport is no/],
    'an invalid host': [{ from, smtpUrl: 'smtp://cms:s3cret@a%00b' }, /^ANNALS_SMTP_URL is no/],
  };
  for (const [what, [settings, message]] of Object.entries(wrong)) {
    it(`are refused at start when there is ${what}`, async (t) => {
      for (const isProduction of [true, false]) {
        await assert.rejects(opened(t, { ...settings, isProduction }), (error: Error) => {
          assert.ok(error instanceof UsageError, String(error));
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /s3cret/);
          return true;
        });
      }
    });
  }

  it('with a sender and no transport are refused in production, and catch mail before', async (t) => {
    const settings = { email: { from } };
    await assert.rejects(opened(t, { ...settings, isProduction: true }), /no transport; set ANNALS_SMTP_URL/);
    const { log, lines } = openLog();
    const mailer = await opened(t, { ...settings, isProduction: false, log });
    await mailer.send(mailOf());
    assert.match(lines.map(({ msg }) => msg).join(), /mail caught/);
  });

  it('leave transports alone that are not SMTP', async (t) => {
    const sent: unknown[] = [];
    class Own {
      name = 'own';
      version = '1';
      send(mail: { data: unknown }, callback: (error: null) => void): void {
        sent.push(mail.data);
        callback(null);
      }
    }
    await (await opened(t, { email: { from, transport: new Own() } })).send(mailOf());
    await (await opened(t, { email: { from, transport: { jsonTransport: true } } })).send(mailOf());
    assert.equal(sent.length, 1);
  });
});

describe('Production without settings', () => {
  it('says so at start and of each mail, and sends none', async () => {
    const { log, lines } = openLog();
    const mailer = await openMail({ email: null, smtpUrl: undefined, from: undefined, isProduction: true, log });
    assert.deepEqual(
      lines.map(({ level, msg }) => [level, msg]),
      [[40, 'mail is not configured: invitations and password resets are not sent']],
    );
    await assert.rejects(mailer.send(mailOf()), new Undeliverable('mail is not configured'));
    await mailer.close();
  });
});
