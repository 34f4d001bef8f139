import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { bearer } from '../helpers/accounts.ts';
import { type Contract, contractOf, described } from '../helpers/contract.ts';
import type { Mailbox } from '../helpers/mail.ts';
import { request, type Sent } from '../helpers/requests.ts';
import { type Answer, apiKey, type Service } from '../helpers/service.ts';
import { type NotedCall, noted } from './recorded.ts';

/** One call of an operation. */
export type Call = Sent & { path: string };

/** A document of each collection as it was answered, by slug. */
// biome-ignore lint/suspicious/noExplicitAny: documents of every shape
type Documents = Record<string, any>;

/** A service of the rich configuration with something in it, and its callers. */
export type World = Awaited<ReturnType<typeof createWorld>>;

export const password = 'correct horse battery';
const email = 'ada@example.org';

/** An address without earlier calls: calls of the public account routes are counted by address. */
export function newAddress(): Record<string, string> {
  return { 'x-forwarded-for': `2001:db8:${randomUUID().slice(0, 4)}:${randomUUID().slice(0, 4)}::1` };
}

export const fresh = () => randomUUID().replaceAll('-', '');
export const freshEmail = () => `${fresh()}@example.org`;
export const anybody = () => ({ key: null, headers: { ...newAddress(), 'user-agent': 'a test' } });

/**
 * Makes the first user and the first documents.
 *
 * @param whileEmpty is given how the first user is made before there is one, to try how it is refused.
 */
export async function createWorld(
  { url }: Service,
  mailbox: Mailbox,
  setupToken: string,
  whileEmpty: (world: Pick<World, 'send'>, first: () => Call) => Promise<void>,
) {
  /** All calls that were made, with their answers. */
  const calls: NotedCall[] = [];
  const contract: Contract = contractOf((await request(url, 'GET', '/api/openapi.json')).body);

  /** Calls an operation, and holds the answer against the document. */
  async function send(operation: string, { path, ...sent }: Call): Promise<Answer> {
    const [method = ''] = operation.split(' ');
    const answer = await request(url, method, path, { ...sent, headers: { ...needed(operation), ...sent.headers } });
    contract.check(operation, answer);
    calls.push(noted(operation, answer));
    return answer;
  }

  /** The headers that an operation cannot do without. */
  function needed(operation: string): Record<string, string> {
    const { parameters = [] } = described(contract.document, operation);
    const names = parameters.filter((one: Documents) => one.in === 'header' && one.required);
    return Object.fromEntries(names.map(({ name }: { name: string }) => [name.toLowerCase(), 'because']));
  }

  async function wanted(operation: string, call: Call): Promise<Answer> {
    const answer = await send(operation, call);
    assert.ok(answer.status < 300, `${operation}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }

  const users = '/api/collections/users';
  const first = () => ({
    path: `${users}/first-user`,
    body: { setupToken, email, password, name: 'Ada' },
    ...anybody(),
  });
  await whileEmpty({ send }, first);
  const made = await wanted(`POST ${users}/first-user`, first());
  const admin = bearer(made.body.token);
  const cookie = String(made.headers.get('set-cookie')).split(';', 1)[0] as string;

  /** The caller who may do everything in a collection. */
  const caller = (slug: string): Sent => (slug === 'members' ? admin : { key: apiKey });

  const documents: Documents = {};

  /** A body with which a document of a collection can be created, each time another. */
  function bodyOf(slug: string): unknown {
    return bodies[slug]?.(documents) ?? assert.fail(`there is no body for ${slug}`);
  }

  async function create(slug: string, body = bodyOf(slug)): Promise<Documents> {
    const path = `/api/collections/${slug}`;
    return (await wanted(`POST ${path}`, { path, body, ...caller(slug) })).body;
  }

  for (const slug of ['hooked', 'near', 'reasoned', 'files', 'things', 'users', 'members']) {
    documents[slug] = await create(slug);
    await create(slug, least[slug]?.());
  }
  const adminId = made.body.user.id;
  const own = { path: `${users}/${adminId}`, body: { hooked: documents.hooked.id }, ...admin };
  await wanted(`PATCH ${users}/{id}`, own);

  const emails: Record<string, string> = { users: email, members: freshEmail() };
  await create('members', { email: emails.members, password, nick: 'Mia' });
  /** A new session of a user of a collection. */
  async function session(slug: string): Promise<Sent> {
    const path = `/api/collections/${slug}/login`;
    const body = { email: emails[slug], password };
    const login = () => ({ path, body, key: null, headers: newAddress() });
    // Addresses share the counters of the rate limit: a new one may fall on one that other calls have used up.
    const answer = await send(`POST ${path}`, login());
    return bearer((answer.status === 429 ? await wanted(`POST ${path}`, login()) : answer).body.token);
  }
  const member = await session('members');

  /** A new API key, without any right of its own. */
  async function madeKey(rights = {}): Promise<{ id: string; secret: string }> {
    return (await wanted('POST /api/keys', { path: '/api/keys', body: { name: 'a new key', ...rights } })).body;
  }
  /** The id of a delivery that waits because its webhook accepts none. */
  async function delivery(): Promise<string> {
    const path = '/api/webhooks/front/deliveries';
    for (const query of ['', '?state=parked'])
      await wanted('GET /api/webhooks/{name}/deliveries', { path: `/api/webhooks/site/deliveries${query}` });
    for (;;) {
      const all = { path: `${path}?limit=100` };
      const { docs } = (await wanted('GET /api/webhooks/{name}/deliveries', all)).body;
      const found = docs.find(({ data }: Documents) => data.batch !== null) ?? docs[0];
      if (found) return found.id;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  // This key expires, so that each list of keys has one that does.
  const powerless = (await madeKey({ expiresAt: '2999-01-01T00:00:00Z' })).secret;

  async function inviteToken(slug: string, address = freshEmail()): Promise<string> {
    const path = `/api/collections/${slug}/invite`;
    await wanted(`POST ${path}`, { path, body: { email: address }, ...admin });
    return mailbox.token(address);
  }

  async function resetToken(slug: string): Promise<string> {
    const address = freshEmail();
    await create(slug, { ...(bodyOf(slug) as object), email: address, password });
    const path = `/api/collections/${slug}/forgot-password`;
    await wanted(`POST ${path}`, { path, body: { email: address }, ...anybody() });
    return mailbox.token(address);
  }

  return {
    url,
    contract,
    calls,
    send,
    needed,
    first,
    admin,
    member,
    madeKey,
    delivery,
    /** The secret of such a key. */
    powerless,
    /** The cookie of the admin. */
    cookie,
    emails,
    caller,
    documents,
    bodyOf,
    create,
    session,
    inviteToken,
    resetToken,
  };
}

const json = (value: unknown) => new Blob([JSON.stringify(value)], { type: 'application/json' });

/** A picture of one pixel, as GIF. */
const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==', 'base64');

/** A form with a file, as the rich configuration takes it. */
export function formOf(
  file: string | Buffer<ArrayBuffer> | null,
  values: Record<string, string | Blob> = { alt: 'x' },
): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(values)) form.append(name, value as string);
  if (file !== null) form.append('file', new Blob([file]), 'a file.txt');
  return form;
}

/** The fields that a document needs: all else is null. */
const least: Record<string, () => unknown> = {
  hooked: () => ({}),
  near: () => ({}),
  reasoned: () => ({}),
  files: () => formOf(pixel),
  users: () => ({ email: freshEmail() }),
  members: () => ({ email: freshEmail(), nick: 'x' }),
  things: () => ({ text: 'x', select: null }),
};

const bodies: Record<string, (documents: Documents) => unknown> = {
  hooked: () => ({ text: 'x' }),
  near: ({ hooked }) => ({ hooked: hooked.id }),
  reasoned: () => ({ text: 'x' }),
  files: () => {
    const nested = {
      parts: json([
        { a: 'x', b: 2 },
        { a: 'x', b: null },
      ]),
      extra: json({ a: [1] }),
    };
    return formOf('<svg xmlns="http://www.w3.org/2000/svg"/>', {
      alt: 'x',
      year: '1999',
      isOld: 'true',
      tags: 'a',
      ...nested,
    });
  },
  users: ({ hooked }) => ({ email: freshEmail(), name: 'x', code: fresh(), hooked: hooked.id, role: 'a' }),
  members: () => ({ email: freshEmail(), nick: 'x', token: 'x' }),
  things: ({ things, files }) => ({
    text: 'x',
    code: fresh(),
    textarea: 'a\nb',
    rich: { ops: [] },
    email: 'ä@example.org',
    url: 'https://example.org/ü',
    number: 1.5,
    integer: 3,
    boolean: true,
    date: '2024-02-29',
    datetime: '2024-02-29T12:30+01:00',
    time: '23:59',
    select: 'b',
    radio: 'a',
    multiSelect: ['a', 'b'],
    other: things?.id ?? null,
    others: things ? [things.id] : [],
    object: { a: 'x', b: things ? 2 : null },
    array: [
      { a: 'x', b: 2 },
      { a: 'y', b: null },
    ],
    blocks: [{ blockType: 'one', a: 'x', b: 2 }, { blockType: 'one', a: 'x', b: null }, { blockType: 'two-b' }].concat(
      things ? [{ blockType: 'two-b', to: things.id } as never] : [],
    ),
    json: [1, null],
    photo: files.id,
    inRow: 'x',
    secret: 'x',
  }),
};
