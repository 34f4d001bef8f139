import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { anonymous, bearer } from '../helpers/accounts.ts';
import { useMailbox } from '../helpers/mail.ts';
import { type Answer, apiKey, type CallOptions } from '../helpers/service.ts';
import { useService } from '../helpers/shared.ts';

const mailbox = await useMailbox();
const signing = 'the-secret-that-signs-0123456789abcdef';
const service = useService(
  `const isAdmin = ({ user }) => user?.role === 'admin';
export default {
  bcryptCost: 4,
  collections: [
    {
      slug: 'users',
      auth: { useAPIKey: true, maxLoginAttempts: 3 },
      fields: [
        { name: 'name', type: 'text' },
        { name: 'role', type: 'select', options: ['admin', 'editor'], defaultValue: 'editor', access: { update: isAdmin } },
      ],
      hooks: {
        beforeChange: [({ data }) => { if (data.name === 'fault') throw new Error('a fault in a hook'); return data; }],
        afterChange: [({ data, user, req }) => { console.log(JSON.stringify({ data, user, req })); return data; }],
      },
      access: { update: ({ data, doc, user, req }) => { console.log(JSON.stringify({ data, doc, user, req })); return true; } },
    },
    { slug: 'members', auth: true, fields: [] },
  ],
};`,
  {
    ANNALS_SECRET: signing,
    ANNALS_LOG_LEVEL: 'debug',
    ANNALS_SMTP_URL: mailbox.url,
    ANNALS_MAIL_FROM: 'Annals <annals@example.org>',
  },
);

const users = '/api/collections/users';
const bodies: string[] = [];
const [passwords, tokens, hashes] = [new Set<string>(), new Set<string>(), new Set<string>()];

/** A password that is used for nothing else. */
function password(what: string): string {
  const made = `${what} horse ${passwords.size} b@tt"ry é`;
  passwords.add(made);
  return made;
}

/** Calls, and keeps the answer and the secrets in it. */
async function call(method: string, path: string, body?: unknown, options: CallOptions = anonymous): Promise<Answer> {
  const answer = await service.call(method, path, body, options);
  bodies.push(JSON.stringify(answer.body));
  const { token } = answer.body ?? {};
  if (typeof token === 'string') tokens.add(token);
  const cookie = /^annals-[^=]+=([^;]+)/.exec(answer.headers.get('set-cookie') ?? '')?.[1];
  if (cookie) tokens.add(cookie);
  for (const hash of vault('SELECT hash FROM passwords')) hashes.add(hash);
  return answer;
}

function vault(query: string): string[] {
  const db = new Database(join(service.data, 'vault.db'), { readonly: true });
  try {
    return db.prepare(query).pluck().all() as string[];
  } finally {
    db.close();
  }
}

async function oneTimeToken(email: string): Promise<string> {
  const token = await mailbox.token(email);
  tokens.add(token);
  return token;
}

const okay = (answer: Answer, status = 200): Answer => {
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  return answer;
};

/** Every route about accounts, rightly and wrongly used. */
async function tour(): Promise<void> {
  const setupToken = /setup\?token=(\S+)/.exec(service.output().stdout)?.[1] as string;
  tokens.add(setupToken);
  const [first, chosen] = ['first@example.org', password('the first')];
  okay(await call('GET', `${users}/init`));
  for (const page of ['setup', 'accept-invite', 'reset-password']) {
    const url = `${service.url}/account/users/${page}?token=${setupToken}`;
    bodies.push(await (await fetch(url)).text());
  }
  okay(await call('POST', `${users}/first-user`, { setupToken: 'x', email: first, password: password('setup') }), 403);
  okay(
    await call('POST', `${users}/first-user`, { setupToken, email: password('in the e-mail'), password: chosen }),
    400,
  );
  const setup = { setupToken, email: first, password: chosen, role: 'admin', name: 'First' };
  const admin = bearer(okay(await call('POST', `${users}/first-user`, setup), 201).body.token);

  // Users who type a password where the e-mail belongs, and other ways to send one where it does not.
  okay(await call('POST', `${users}/login`, { email: password('in the e-mail'), password: password('wrong') }), 401);
  okay(await call('POST', `${users}/login`, { email: password('in the e-mail'), password: '' }), 401);
  okay(await call('POST', `${users}/forgot-password`, { email: password('in the e-mail') }));
  okay(await call('POST', `${users}/invite`, { email: password('in the e-mail') }, admin), 400);
  okay(await call('POST', users, { email: password('in the e-mail'), password: password('create') }, admin), 400);
  okay(
    await call('POST', `${users}/login`, { email: [password('in a list')], password: [password('in a list')] }),
    400,
  );
  okay(await call('POST', `${users}/login`, { email: first, pasword: password('under another name') }), 400);
  okay(await call('POST', `${users}/login`, `{"email":"${first}","password":"broken-json-horse-1`), 400);
  passwords.add('broken-json-horse-1');
  const query = new URLSearchParams({ email: first, password: password('in the query') });
  okay(await call('POST', `${users}/login?${query}`, { email: first, password: chosen }), 400);
  okay(await call('GET', `${users}?where[password][equals]=${password('in a filter')}`, undefined, admin), 400);
  const basic = Buffer.from(`${first}:${password('basic')}`).toString('base64');
  okay(await call('GET', users, undefined, { key: null, headers: { authorization: `Basic ${basic}` } }), 401);

  const entry = okay(await call('POST', `${users}/login`, { email: first, password: chosen }));
  const cookie = { key: null, headers: { cookie: `annals-users=${entry.body.token}`, origin: service.url } };
  okay(await call('GET', `${users}/me`, undefined, cookie));
  okay(await call('POST', `${users}/refresh-token`, undefined, cookie));
  okay(await call('GET', `${users}/sessions`, undefined, admin));
  okay(await call('POST', `${users}/logout`, undefined, cookie));

  for (const [email, count] of [
    [first, 2],
    ['unknown@example.org', 4],
  ] as const)
    for (let n = 0; n < count; n += 1)
      okay(await call('POST', `${users}/login`, { email, password: password('wrong') }), n < 3 ? 401 : 429);

  // An account that is made, faulty and rightly, changed and deleted.
  const made = { email: 'made@example.org', password: password('made') };
  okay(await call('POST', users, { ...made, name: 'fault' }, admin), 500);
  const { id } = okay(await call('POST', users, made, admin), 201).body;
  okay(await call('POST', users, { ...made, password: password('taken') }, admin), 409);
  okay(await call('PATCH', `${users}/${id}`, { password: password('patched') }, admin));
  okay(await call('PATCH', `${users}/${id}`, { password: password('by the key'), name: 'Made' }, {}));
  okay(await call('PATCH', `${users}/${id}`, { password: password('fault'), name: 'fault' }, admin), 500);
  okay(await call('PATCH', `${users}/${id}`, { password: password('conflict'), email: first }, admin), 409);
  okay(await call('PATCH', `${users}/${id}`, { password: password('invalid'), role: 'king' }, admin), 400);
  okay(await call('DELETE', `${users}/${id}`, undefined, admin));

  const invited = 'invited@example.org';
  okay(await call('POST', `${users}/invite`, { email: invited }, admin));
  await oneTimeToken(invited);
  okay(await call('POST', `${users}/invite`, { email: invited }, admin));
  const invitation = await oneTimeToken(invited);
  okay(await call('POST', `${users}/accept-invite`, { token: invitation, password: password('x'), nme: 1 }), 400);
  const accept = { token: invitation, password: password('accepted'), name: 'Invited' };
  const guest = bearer(okay(await call('POST', `${users}/accept-invite`, accept), 201).body.token);
  okay(await call('POST', `${users}/accept-invite`, { ...accept, password: password('again') }), 400);
  await mailbox.next(invited);

  okay(await call('POST', `${users}/forgot-password`, { email: invited }));
  await oneTimeToken(invited);
  okay(await call('POST', `${users}/forgot-password`, { email: invited }));
  const token = await oneTimeToken(invited);
  okay(await call('POST', `${users}/reset-password`, { token, password: password('short').slice(0, 5) }), 400);
  okay(await call('POST', `${users}/reset-password`, { token, password: password('reset') }));
  okay(await call('POST', `${users}/reset-password`, { token, password: password('again') }), 400);
  await mailbox.next(invited);
  okay(await call('GET', `${users}/me`, undefined, guest), 401);

  okay(await call('POST', '/api/collections/members/invite', { email: 'member@example.org' }, admin));
  const member = { token: await oneTimeToken('member@example.org'), password: password('member') };
  okay(await call('POST', '/api/collections/members/accept-invite', member), 201);
  await mailbox.next('member@example.org');

  const other = okay(await call('POST', `${users}/login`, { email: first, password: chosen }));
  const { sid } = JSON.parse(String(Buffer.from(other.body.token.split('.')[1], 'base64url')));
  okay(await call('DELETE', `${users}/sessions/${sid}`, undefined, admin));
  for (const path of ['/api/schemas', '/api/openapi.json', users, `${users}?depth=2&sort=email`])
    okay(await call('GET', path, undefined, admin));
  okay(await call('GET', `${users}/me`, undefined, bearer(`${[...tokens].at(-1)}x`)), 401);
}

/** The form of a secret wherever it is written down. */
function formsOf(secret: string): Buffer[] {
  const bytes = Buffer.from(secret);
  // In the middle of other bytes it begins at any of three places of a group of base64, whose edges are not its own.
  const inBase64 = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .slice(shift === 0 ? 0 : 4, -4),
  );
  const texts = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    new URLSearchParams([['', secret]]).toString().slice(1),
  ];
  const forms = [
    ...texts,
    ...inBase64,
    ...inBase64.map(toUrl),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
  ];
  return [...new Set(forms)].map((form) => Buffer.from(form)).concat(Buffer.from(secret, 'utf16le'));
}

function toUrl(base64: string): string {
  return base64.replaceAll('+', '-').replaceAll('/', '_');
}

/** The files of the data directory, by whether they are of the vault. */
function filesOf(isVault: boolean): Map<string, Buffer> {
  const entries = readdirSync(service.data, { withFileTypes: true }).filter((entry) => entry.isFile());
  const names = entries.map(({ name }) => name).filter((name) => name.startsWith('vault.db') === isVault);
  return new Map(names.map((name) => [name, readFileSync(join(service.data, name))]));
}

/** Looks at each place once, for all forms at the same time: by the first four bytes of each. */
function assertNone(places: ReadonlyMap<string, Buffer>, secrets: Iterable<string>): void {
  const byStart = new Map<number, { form: Buffer; secret: string }[]>();
  for (const secret of secrets) {
    for (const form of formsOf(secret)) {
      const start = form.readInt32LE();
      byStart.set(start, [...(byStart.get(start) ?? []), { form, secret }]);
    }
  }
  for (const [name, bytes] of places) {
    for (let at = 0; at + 4 <= bytes.length; at += 1) {
      for (const { form, secret } of byStart.get(bytes.readInt32LE(at)) ?? [])
        assert.ok(!bytes.subarray(at).subarray(0, form.length).equals(form), `${name} holds ${secret} as ${form}`);
    }
  }
}

/** The parts of a token that are secret: of a JWT the signature, of a one-time token the code before the id. */
function partsOf(token: string): string[] {
  const signature = token.split('.')[2];
  if (signature !== undefined) return [token, signature, token.split('.')[1] as string];
  return [token, token.slice(0, 42), Buffer.from(token, 'base64url').subarray(0, 32).toString('hex')];
}

describe('After a tour through every route', () => {
  before(tour);

  it('no password, hash or token stands in the log, the read tables, a mail or what was printed', async () => {
    const secrets = vault('SELECT value FROM secrets');
    const [parts, own] = [[...tokens].flatMap(partsOf), [...secrets, signing, apiKey]];
    const digests = [...hashes].flatMap((hash) => [hash, hash.slice(29)]);
    assert.ok(
      passwords.size > 30 && tokens.size > 10 && hashes.size >= 6,
      `${tokens.size} tokens, ${hashes.size} hashes`,
    );
    const all = [...passwords, ...parts, ...digests, ...own];

    const running = filesOf(false);
    assert.ok(running.has('log.db-wal'), [...running.keys()].join());
    assertNone(running, all);
    const kept = new Set(vault('SELECT hash FROM passwords'));
    assert.equal(await service.stop(), 0);
    const stopped = filesOf(false);
    assertNone(stopped, all);

    const { stdout, stderr } = service.output();
    const printed = stdout.replace(/^ {2}Setup .*$/m, '');
    assertNone(new Map([['what was printed', Buffer.from(printed + stderr)]]), all);
    const mails = JSON.stringify(
      mailbox.received.map(({ mail }) => [mail.subject, mail.text, mail.html, mail.headers]),
    );
    assertNone(new Map([['a mail', Buffer.from(mails)]]), [...passwords, ...digests, ...own]);
    // An answer repeats parts of its request: a filter, and an invalid e-mail.
    const shown = [...passwords].filter((one) => !one.startsWith('in '));
    assertNone(new Map([['an answer', Buffer.from(bodies.join('\n'))]]), [...shown, ...digests, ...own]);

    // In the vault a password is only a hash, and one that nothing names any longer not even that.
    const gone = [...hashes].filter((hash) => !kept.has(hash));
    assert.ok(gone.length >= 3);
    assertNone(filesOf(true), [...passwords, ...parts, ...gone, ...gone.map((hash) => hash.slice(29))]);

    // The search would find it.
    const [log, hashed] = [stopped.get('log.db'), filesOf(true).get('vault.db')];
    assert.ok(log?.includes('invited@example.org') && log.includes('session.started'));
    assert.ok([...kept].every((hash) => hashed?.includes(hash)));
    assert.match(printed, /made@example\.org/);
    assert.match(stderr, /a fault in a hook/);
    assert.match(stdout, /setup\?token=/);
  });
});
