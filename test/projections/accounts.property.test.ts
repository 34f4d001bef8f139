import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { checkConfig } from '../../config/check.ts';
import type { Json, JsonObject } from '../../config/schema.ts';
import { accountStream, type EventType, inviteStream, setupStream, splitStream } from '../../events/facts/catalogue.ts';
import type { Header } from '../../events/facts/envelope.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { compileUpcaster } from '../../events/facts/upcasters.ts';
import {
  type Account,
  type Invite,
  openAccounts,
  type Session,
  type WaitingMail,
} from '../../projections/tables/accounts.ts';
import { openProjector } from '../../projections/tables/projector.ts';
import { createIndexes, createTables, tablesOf } from '../../projections/tables/tables.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { category } from '../helpers/category.ts';
import { runsOf, seenOf } from '../helpers/runs.ts';
import { dump } from './directory.ts';

const { schema } = checkConfig({ collections: [{ slug: 'users', fields: [{ name: 'name', type: 'text' }] }] });
const tables = tablesOf(schema);
const upcaster = compileUpcaster([{ position: 1, schema }]);
const start = Date.parse('2026-11-20T12:00:00.000Z');

// `staff` is a collection that the configuration no longer has: what happened to its accounts still holds.
const users = [
  ['users', '1'],
  ['users', '2'],
  ['staff', '1'],
] as const;
const emails = ['a@example.com', 'b@example.com'];

/** One event to be. `pick` chooses among what there was before: sessions, credentials, resets, mails. */
type Step = {
  type: EventType;
  user: number;
  pick: number;
  email: number;
  /** Milliseconds after the event before, and until what it begins expires. */
  gap: number;
  life: number;
  isErased: boolean;
};

const rest: EventType[] = [
  'session.revoked',
  'password.reset.requested',
  'invite.accepted',
  'invite.withdrawn',
  'email.sent',
  'email.failed',
  'login.failed',
  'setup.completed',
  'document.created',
  'document.deleted',
];

const step: fc.Arbitrary<Step> = fc.record({
  type: fc.oneof(
    { weight: 8, arbitrary: fc.constant<EventType>('session.started') },
    { weight: 3, arbitrary: fc.constantFrom<EventType>('password.changed', 'session.refreshed', 'invite.created') },
    { weight: 6, arbitrary: fc.constantFrom<EventType>(...rest) },
  ),
  user: fc.integer({ min: 0, max: users.length - 1 }),
  pick: fc.nat({ max: 40 }),
  email: fc.integer({ min: 0, max: emails.length - 1 }),
  gap: fc.integer({ min: 0, max: 3 }),
  life: fc.oneof(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 20, max: 200 })),
  isErased: fc.integer({ min: 0, max: 19 }).map((side) => side === 0),
});

const history: fc.Arbitrary<RecordedEvent[]> = fc
  .array(step, { minLength: 5, maxLength: 60, size: 'max' })
  .map((steps) => {
    const events: RecordedEvent[] = [];
    const versions = new Map<string, number>();
    let at = start;
    for (const one of steps) {
      at += one.gap;
      const [stream, data] = sayingOf(one, events, at);
      const version = (versions.get(stream) ?? 0) + 1;
      versions.set(stream, version);
      const position = events.length + 1;
      const recordedAt = new Date(at).toISOString();
      const actor = { type: 'user', id: `users/${position % 3}` } as const;
      const header = {
        position,
        id: `event ${position}`,
        stream,
        version,
        type: one.type,
        recordedAt,
        actor,
      } as Header;
      const context = { ip: `192.0.2.${position}`, ...(one.pick % 2 === 0 ? { userAgent: `agent ${position}` } : {}) };
      events.push(one.isErased ? { header, data: null, context: null } : { header, data, context });
    }
    return events;
  });

/** The stream and the data of a step. Most of what it refers to was there once, and some of that belongs to others. */
function sayingOf(one: Step, before: readonly RecordedEvent[], at: number): [stream: string, data: JsonObject] {
  const [slug, id] = users[one.user] as (typeof users)[number];
  const stream = accountStream(category(slug), id);
  const number = before.length + 1;
  const expiresAt = new Date(at + one.life).toISOString();
  const earlier = (type: EventType, name: string) => {
    return before.filter(({ header }) => header.type === type).map(({ data }) => data?.[name]);
  };
  const picked = (values: readonly (Json | undefined)[]) => values[one.pick % Math.max(1, values.length)] ?? 'none';
  const sid = picked(earlier('session.started', 'sid'));
  switch (one.type) {
    case 'session.started': {
      const own = before.filter(({ header }) => header.stream === stream && header.type === 'password.changed');
      const old = picked(earlier('password.changed', 'credential'));
      const credential = one.pick % 5 === 0 ? old : (own.at(-1)?.data?.credential ?? 'none');
      return [stream, { sid: `session ${number}`, credential, expiresAt }];
    }
    case 'session.refreshed':
      return [stream, { sid, expiresAt }];
    case 'session.revoked':
      return [stream, one.pick % 3 === 0 ? {} : { sid }];
    case 'password.changed': {
      const keeps: JsonObject = one.pick % 2 === 0 ? { keeps: sid } : {};
      const reset: JsonObject =
        one.pick % 3 === 0 ? { reset: picked(earlier('password.reset.requested', 'reset')) } : {};
      return [stream, { credential: `credential ${number}`, ...keeps, ...reset }];
    }
    case 'password.reset.requested':
      return [stream, { reset: `reset ${number}`, expiresAt }];
    case 'invite.created':
      return [inviteStream(category(slug), `invite ${number}`), { email: emails[one.email] as string, expiresAt }];
    case 'invite.accepted':
    case 'invite.withdrawn': {
      const invites = before.filter(({ header }) => header.type === 'invite.created');
      const invite = invites[one.pick % Math.max(1, invites.length)]?.header.stream;
      return [
        invite ?? inviteStream(category(slug), 'none'),
        one.type === 'invite.accepted' ? { account: `${slug}/${id}` } : {},
      ];
    }
    case 'email.sent':
    case 'email.failed': {
      const asked = before[one.pick % Math.max(1, before.length)]?.header;
      const where = asked?.stream.startsWith('accounts/') ? asked.stream : stream;
      return [where, { mail: 'welcome', event: asked?.id ?? 'none' }];
    }
    case 'setup.completed':
      return [setupStream(category(slug)), { account: `${slug}/${id}` }];
    case 'document.created':
    case 'document.deleted':
      return [`${slug}/${id}`, {}];
    default:
      return [stream, {}];
  }
}

function said({ data }: RecordedEvent): JsonObject {
  return data ?? {};
}

function timeOf({ header }: RecordedEvent): number {
  return Date.parse(header.recordedAt);
}

/** Whose it is, by the name of its stream: `users/1` of `accounts/users/1`. */
function holderOf({ header }: RecordedEvent): string {
  return header.stream.replace(/^accounts\//, '');
}

/**
 * The conditions after a history. Unlike the fold, which goes on from event to event, this works each thing out by
 * itself: it is there if it began, and nothing that came after ended it.
 */
function expectedOf(events: readonly RecordedEvent[]) {
  const invites = events.flatMap((event, index) => inviteOf(event, events.slice(index + 1)) ?? []);
  return {
    accounts: users.map(([slug, id]) => accountAfter(`${slug}/${id}`, events)),
    sessions: events.flatMap((event, index) => {
      return sessionOf(event, events.slice(0, index), events.slice(index + 1)) ?? [];
    }),
    invites,
    setups: ['users', 'staff'].map((slug) => versionOf(setupStream(category(slug)), events)),
    mails: events.flatMap((event, index) => mailOf(event, events.slice(index + 1), invites) ?? []),
  };
}

function versionOf(stream: string, events: readonly RecordedEvent[]): number {
  return events.findLast(({ header }) => header.stream === stream)?.header.version ?? 0;
}

/** The events of an account since its user was last deleted. */
function lifeOf(holder: string, events: readonly RecordedEvent[]): RecordedEvent[] {
  const end = events.findLastIndex(({ header }) => header.type === 'document.deleted' && header.stream === holder);
  return events.slice(end + 1).filter(({ header }) => header.stream === `accounts/${holder}`);
}

function accountAfter(holder: string, events: readonly RecordedEvent[]): Account | null {
  const life = lifeOf(holder, events);
  const last = life.at(-1);
  if (!last) return null;
  const change = life.findLast(({ header }) => header.type === 'password.changed');
  const turn = life.findLast(({ header }) => /^password\./.test(header.type));
  const login = life.findLast(({ header }) => header.type === 'session.started');
  const asked = turn?.header.type === 'password.reset.requested' && turn.data;
  return {
    version: last.header.version,
    credential: (change?.data?.credential as string | undefined) ?? null,
    reset: asked ? { id: String(asked.reset), expiresAt: Date.parse(String(asked.expiresAt)) } : null,
    lastLoginAt: login ? timeOf(login) : null,
  };
}

function sessionOf(
  event: RecordedEvent,
  before: readonly RecordedEvent[],
  after: readonly RecordedEvent[],
): Session | null {
  const holder = holderOf(event);
  if (event.header.type !== 'session.started' || !event.data) return null;
  if (accountAfter(holder, before)?.credential !== event.data.credential) return null;
  const [own, id] = splitStream(holder);
  const sid = String(event.data.sid);
  let refreshedAt: number | null = null;
  let expiresAt = Date.parse(String(event.data.expiresAt));
  for (const later of after) {
    const { type, stream } = later.header;
    if (type === 'session.started' && purges(later, expiresAt)) return null;
    if (type === 'document.deleted' && stream === holder) return null;
    if (stream !== event.header.stream) continue;
    if (type === 'session.revoked' && (said(later).sid ?? sid) === sid) return null;
    if (type === 'password.changed' && said(later).keeps !== sid) return null;
    if (type !== 'session.refreshed' || said(later).sid !== sid) continue;
    refreshedAt = timeOf(later);
    expiresAt = Date.parse(String(said(later).expiresAt));
  }
  const { ip = null, userAgent = null } = event.context ?? {};
  return { sid, category: own, id, startedAt: timeOf(event), refreshedAt, expiresAt, ip, userAgent };
}

/** Whether an event that begins something takes away what has expired; one that begins what is over takes nothing. */
function purges(event: RecordedEvent, expiresAt: number): boolean {
  return timeOf(event) >= expiresAt && timeOf(event) < Date.parse(String(said(event).expiresAt));
}

function inviteOf(event: RecordedEvent, after: readonly RecordedEvent[]): Invite | null {
  if (event.header.type !== 'invite.created' || !event.data) return null;
  const [slug = '', , id = ''] = holderOf(event).split('/');
  const email = String(event.data.email);
  const expiresAt = Date.parse(String(event.data.expiresAt));
  const isOver = after.some((later) => {
    if (/^invite\.(accepted|withdrawn)$/.test(later.header.type)) return later.header.stream === event.header.stream;
    if (later.header.type !== 'invite.created') return false;
    const isNewer = said(later).email === email && holderOf(later).startsWith(`${slug}/`);
    return isNewer || purges(later, expiresAt);
  });
  return isOver
    ? null
    : {
        id,
        category: category(slug),
        email,
        inviter: event.header.actor.id ?? '',
        createdAt: timeOf(event),
        expiresAt,
        version: versionOf(event.header.stream, [event, ...after]),
      };
}

function mailOf(event: RecordedEvent, after: readonly RecordedEvent[], invites: readonly Invite[]): WaitingMail | null {
  const { type, id: name, position, stream } = event.header;
  if (after.some((later) => /^email/.test(later.header.type) && said(later).event === name)) return null;
  const holder = holderOf(event);
  const [own, id] = splitStream(holder);
  const common = {
    event: name,
    position,
    stream,
    since: timeOf(event),
    category: own,
    email: null,
    token: null,
    expiresAt: null,
    about: null,
  };
  const data = said(event);
  if (type === 'invite.created') {
    const invite = invites.find((one) => inviteStream(one.category, one.id) === stream);
    if (!invite) return null;
    const { email, expiresAt } = invite;
    return { ...common, kind: 'invitation', id: null, email, token: invite.id, expiresAt };
  }
  if (type === 'invite.accepted' && data.account !== undefined) {
    const [whose, user] = splitStream(String(data.account));
    return { ...common, kind: 'welcome', category: whose, id: user };
  }
  if (type === 'password.changed' && data.reset !== undefined) return { ...common, kind: 'passwordChanged', id };
  if (type !== 'password.reset.requested' || data.reset === undefined) return null;
  if (accountAfter(holder, [event, ...after])?.reset?.id !== data.reset) return null;
  return {
    ...common,
    kind: 'passwordReset',
    id,
    token: data.reset as string,
    expiresAt: Date.parse(String(data.expiresAt)),
  };
}

function applied(events: readonly RecordedEvent[], sizes: readonly number[]): Sqlite {
  const db = openDatabase(':memory:', { durability: 'off' });
  createTables(db, tables);
  let from = 0;
  let projector = openProjector(db, { tables, upcaster });
  for (let turn = 0; from < events.length; turn += 1) {
    const to = Math.min(events.length, from + (sizes[turn % sizes.length] as number));
    // Every third batch opens another projector, as after a restart: its state is in the tables.
    if (turn % 3 === 2) projector = openProjector(db, { tables, upcaster });
    projector.apply(events.slice(from, to), Buffer.alloc(32, to));
    from = to;
  }
  createIndexes(db, tables);
  return db;
}

/** All answers about accounts, in the form of {@link expectedOf}. */
function foundIn(db: Sqlite, events: readonly RecordedEvent[]) {
  const { account, credentials, invite, invites, holder, sessions, setupVersion, waitingMails } = openAccounts(db);
  const accounts = users.map(([slug, id]) => account(category(slug), id));
  assert.deepEqual(credentials(), new Set(accounts.flatMap((one) => one?.credential ?? [])));
  const all = events.flatMap(({ header }) => {
    const sid = `session ${header.position}`;
    const [slug = '', id = ''] = holder(sid)?.split('/') ?? [];
    return sessions(category(slug), id).filter((session) => session.sid === sid);
  });
  assert.deepEqual(
    new Set(users.flatMap(([slug, id]) => sessions(category(slug), id))),
    new Set(all),
    'by sid and by account',
  );
  const open = events.flatMap(({ header }) => invite(`invite ${header.position}`) ?? []);
  assert.deepEqual(
    new Set(['users', 'staff'].map(category).flatMap((one) => invites(one))),
    new Set(open),
    'by id and by collection',
  );
  return {
    accounts,
    sessions: all,
    invites: open,
    setups: ['users', 'staff'].map(category).map(setupVersion),
    mails: waitingMails(),
  };
}

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });

describe('what is folded about accounts', () => {
  it('is the sum of the events, however they are batched, and with any of them erased', () => {
    const all = 400;
    let alive = 0;
    fc.assert(
      fc.property(history, sizes, (events, split) => {
        const found = foundIn(applied(events, split), events);
        alive += found.sessions.length;
        assert.deepEqual(found, expectedOf(events));
      }),
      { numRuns: runsOf(all) },
    );
    assert.ok(alive >= seenOf(130, all), `only ${alive} sessions were there at the ends`);
  });

  it('is the same, byte for byte, when the tables are built anew from the first event', () => {
    fc.assert(
      fc.property(history, sizes, (events, split) => {
        assert.equal(dump(applied(events, split)), dump(applied(events, [Math.max(1, events.length)])));
      }),
      { numRuns: runsOf(150) },
    );
  });
});
