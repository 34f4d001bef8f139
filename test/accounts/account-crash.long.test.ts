import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { createRandom } from '../../bench/content.ts';
import { anonymous, bearer, type LoggedIn, loggedIn, login } from '../helpers/accounts.ts';
import { useMailbox } from '../helpers/mail.ts';
import { roundsOf } from '../helpers/rounds.ts';
import { type Answer, runCommand, type Service, startService, temporaryFolder } from '../helpers/service.ts';
import { eventually } from '../helpers/shared.ts';

const mailbox = await useMailbox();
const users = '/api/collections/users';
const config = {
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    { slug: 'users', auth: { useAPIKey: true, tokenExpiration: 86_400 }, fields: [{ name: 'note', type: 'text' }] },
  ],
};
/** Each round costs a start; more of them are tried by hand. */
const rounds = roundsOf(3, 2);
const invitedAtOnce = 4;

/**
 * Everything that was ever tried for one address. The password is that of the last acknowledged attempt, or of a later
 * one.
 */
type Story = {
  email: string;
  id: string | null;
  attempts: { password: string; isAcknowledged: boolean }[];
  deletion: 'none' | 'tried' | 'acknowledged';
};

type Call = (method: string, path: string, body?: unknown, as?: typeof anonymous) => Promise<Answer | null>;

/** A client sends one request after the other until the service is gone. */
type Client = (call: Call, name: string, random: () => number) => Promise<Story[]>;

/** How many attempts were acknowledged so far. */
let acknowledged = 0;

async function attempt(
  story: Story,
  password: string,
  status: number,
  send: () => Promise<Answer | null>,
): Promise<boolean> {
  const made = { password, isAcknowledged: false };
  story.attempts.push(made);
  const answer = await send();
  if (answer === null) return false;
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  made.isAcknowledged = true;
  acknowledged += 1;
  story.id ??= answer.body.user?.id ?? answer.body.id ?? null;
  return true;
}

const storyOf = (email: string): Story => ({ email, id: null, attempts: [], deletion: 'none' });

/** Makes users, changes their passwords, alone or with a field, and deletes some. */
const create: Client = async (call, name, random) => {
  const stories: Story[] = [];
  for (let count = 1; ; count += 1) {
    const story = storyOf(`${name}-${count}@example.org`);
    stories.push(story);
    const { email } = story;
    const first = `first of ${email}`;
    if (!(await attempt(story, first, 201, () => call('POST', users, { email, password: first })))) return stories;
    while (random() < 0.6) {
      const password = `number ${story.attempts.length} of ${email}`;
      const body = random() < 0.5 ? { password } : { password, note: password };
      if (!(await attempt(story, password, 200, () => call('PATCH', `${users}/${story.id}`, body)))) return stories;
    }
    if (random() > 0.2) continue;
    story.deletion = 'tried';
    const deleted = await call('DELETE', `${users}/${story.id}`);
    if (deleted === null) return stories;
    assert.equal(deleted.status, 200);
    story.deletion = 'acknowledged';
  }
};

/** Accepts invitations whose mails have come. */
function acceptAll(invitations: { email: string; token: string }[]): Client {
  return async (call) => {
    const stories: Story[] = [];
    for (const { email, token } of invitations) {
      const story = storyOf(email);
      stories.push(story);
      const password = `accepted by ${email}`;
      const send = () => call('POST', `${users}/accept-invite`, { token, password }, anonymous);
      if (!(await attempt(story, password, 201, send))) return stories;
    }
    return stories;
  };
}

/** Invites new addresses, and keeps those that were told that they are. */
function inviteInto(invited: string[], admin: LoggedIn): Client {
  return async (call, name) => {
    for (let count = 1; count <= invitedAtOnce; count += 1) {
      const email = `${name}-${count}@example.org`;
      const answer = await call('POST', `${users}/invite`, { email }, admin.as);
      if (answer === null) return [];
      assert.equal(answer.status, 200);
      invited.push(email);
    }
    return [];
  };
}

/**
 * The contents of the files: the ids of documents, the credentials that accounts name, and those that the vault has.
 */
function filesOf(data: string) {
  const name = readdirSync(data).find((one) => /^read-[0-9a-f]+\.db$/.test(one)) as string;
  const [read, vault] = [name, 'vault.db'].map((file) => new Database(join(data, file), { readonly: true }));
  try {
    const accounts = read
      ?.prepare("SELECT stream, credential FROM accounts WHERE stream LIKE 'accounts/users/%'")
      .all();
    const kept = vault?.prepare('SELECT credential FROM passwords').pluck().all() as string[];
    return { accounts: accounts as { stream: string; credential: string | null }[], kept };
  } finally {
    read?.close();
    vault?.close();
  }
}

async function idsOf(service: Service): Promise<string[]> {
  const ids: string[] = [];
  for (let page = 1; ; page += 1) {
    const { body } = await service.call('GET', `${users}?limit=100&page=${page}`);
    ids.push(...body.docs.map(({ id }: { id: string }) => id));
    if (!body.hasNextPage) return ids;
  }
}

/** Every account has a document, a credential and a hash of it, and there is nothing else of any of them. */
async function checkWhole(service: Service): Promise<void> {
  const { accounts, kept } = filesOf(service.data);
  const byId = accounts.filter(({ stream }) => stream.split('/').length === 3 && !stream.endsWith('/setup'));
  const expected = (await idsOf(service)).map((id) => `accounts/users/${id}`);
  assert.deepEqual(byId.map(({ stream }) => stream).sort(), expected.sort(), 'a user for each account');
  assert.deepEqual(byId.map(({ credential }) => credential).sort(), kept.sort(), 'a hash for each account');
}

/** Which of the passwords of a story opens its account; null when there is no account. */
async function checkStory(service: Service, story: Story): Promise<Story | null> {
  const { email, attempts, deletion } = story;
  const where = `${users}?where[email][equals]=${email}`;
  const exists = (await service.call('GET', where)).body.total === 1;
  const isMade = attempts[0]?.isAcknowledged;
  if (!exists) assert.ok(deletion !== 'none' || !isMade, `${email} was acknowledged and is lost`);
  if (exists) assert.notEqual(deletion, 'acknowledged', `${email} was deleted, acknowledged, and is still there`);
  if (!exists) return null;
  const last = attempts.findLastIndex(({ isAcknowledged }) => isAcknowledged);
  const possible = attempts.slice(Math.max(last, 0)).map(({ password }) => password);
  for (const password of possible.reverse()) {
    const { status } = await login(service, 'users', email, password);
    if (status === 200) return { ...story, attempts: [{ password, isAcknowledged: true }], deletion: 'none' };
    assert.equal(status, 401);
  }
  assert.fail(`${email} cannot log in with any of ${possible.join(', ')}`);
}

/** Checks some at a time: of more, some would be refused because too many wait. */
async function checkStories(service: Service, stories: Story[]): Promise<Story[]> {
  const left = [...stories];
  const checked: Story[] = [];
  while (left.length > 0) {
    const some = await Promise.all(left.splice(0, 50).map((story) => checkStory(service, story)));
    checked.push(...some.filter((story) => story !== null));
  }
  return checked;
}

describe('A service that is killed while people get accounts', () => {
  it('keeps every one that was acknowledged, whole, with its last password, and no half of another', async (t) => {
    const seed = Date.now() % 1e9;
    t.diagnostic(`seed ${seed}`);
    const random = createRandom(seed);
    const data = temporaryFolder(t);
    const mail = { ANNALS_SMTP_URL: mailbox.url, ANNALS_MAIL_FROM: 'Annals <annals@example.org>' };
    /** Answered by two threads or by the main one, in turn: what some leave behind, others find. */
    const start = (round: number) => {
      const environment = { ...mail, ANNALS_LOG_LEVEL: 'error', ANNALS_THREADS: round % 2 === 0 ? '2' : '0' };
      return startService(t, config, { data, environment });
    };
    let service = await start(0);
    await service.call('POST', users, { email: 'admin@example.org', password: 'of the admin' });
    const admin = await loggedIn(service, 'users', 'admin@example.org', 'of the admin');
    const adminStory = {
      ...storyOf('admin@example.org'),
      attempts: [{ password: 'of the admin', isAcknowledged: true }],
    };
    let stories: Story[] = [adminStory];
    const invited: string[] = [];
    await inviteInto(invited, admin)(service.call, 'before', random);
    let open: { email: string; token: string }[] = [];
    const accept = (token: string) =>
      service.call('POST', `${users}/accept-invite`, { token, password: 'once more' }, anonymous);

    for (let round = 1; round <= rounds; round += 1) {
      // A mail that was asked for before a crash comes after it.
      const arrived = await Promise.all(
        invited.splice(0).map(async (email) => ({ email, token: await mailbox.token(email) })),
      );
      open.push(...arrived);
      const call: Call = (...args) => service.call(...args).catch(() => null);
      const clients = [acceptAll(open), create, create, create, inviteInto(invited, admin)];
      const running = clients.map((client, index) => client(call, `r${round}c${index}`, createRandom(random() * 1e9)));
      // Between some write and the next, on a slow machine too.
      const enough = acknowledged + 2 + Math.floor(random() * 30);
      await Promise.race([eventually(() => acknowledged >= enough), Promise.all(running)]);
      await sleep(random() * 15);
      await service.kill();
      const made = (await Promise.all(running)).flat();

      service = await start(round);
      await checkWhole(service);
      stories = await checkStories(service, [...stories, ...made]);
      assert.equal((await service.call('GET', `${users}/me`, undefined, bearer(admin.token))).status, 200);
      // An invitation was used together with the making of its account, or is good still.
      const there = new Set(stories.map(({ email }) => email));
      for (const { email, token } of open.filter(({ email }) => there.has(email)))
        assert.equal((await accept(token)).status, 400, email);
      open = open.filter(({ email }) => !there.has(email));
    }
    for (const { email, token } of open) assert.equal((await accept(token)).status, 201, email);
    assert.ok(stories.length > rounds, `${stories.length} accounts`);
    assert.equal(await service.stop(), 0, service.output().stderr);
    const verified = await runCommand(['verify', '--data', data]);
    assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  });
});
