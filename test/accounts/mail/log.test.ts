import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { checkConfig } from '../../../config/check.ts';
import type { Config } from '../../../config/define.ts';
import type { User } from '../../../config/model.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { accountStream, type EventType, inviteStream } from '../../../events/facts/catalogue.ts';
import type { Actor } from '../../../events/facts/envelope.ts';
import type { Append, Outcome } from '../../../events/facts/log.ts';
import { openAccounts } from '../../../projections/tables/accounts.ts';
import { startReactor } from '../../../server/accounts/mail/reactor.ts';
import { openMail } from '../../../server/accounts/mail/transport.ts';
import { category } from '../../helpers/category.ts';
import { eventually } from '../../helpers/shared.ts';
import { type Directory, openDirectory, quickFolder } from '../../projections/directory.ts';
import { openLog, startPostOffice } from './post-office.ts';

const config: Config = {
  collections: [
    { slug: 'editors', auth: true, fields: [] },
    { slug: 'posts', drafts: true, fields: [{ name: 'title', type: 'text' }] },
  ],
};

/** The append port on a directory that is open in this process. */
function appendTo({ log, projector }: Directory): Append {
  return async (command) => {
    const before = log.head().size;
    const [outcome] = log.append([command]).outcomes as [Outcome | Error];
    if (outcome instanceof Error) throw outcome;
    const { size, root } = log.head();
    projector.apply(log.range(before, size), root);
    return outcome;
  };
}

/** Opens a data directory with all that sends its mails to a server. */
async function startService(t: TestContext, folder: string, port: number, isRebuild = false) {
  const directory = openDirectory(folder, config, { isRebuild });
  const accounts = openAccounts(directory.reader);
  const append = appendTo(directory);
  const { log } = openLog();
  const email = { from: 'cms@example.org', transport: `smtp://127.0.0.1:${port}` };
  const mailer = await openMail({ email, smtpUrl: undefined, from: undefined, isProduction: true, log });
  const reactor = startReactor({
    model: checkConfig(config),
    baseUrl: 'https://cms.example.org',
    accounts,
    userOf: (slug, id) => directory.document(slug, id) as User | null,
    token: (_kind, _slug, id) => `secret-of-${id}`,
    eventAt: (position) => directory.log.range(position - 1, position)[0] ?? null,
    append,
    mailer,
    log,
    now: () => Date.parse('2026-11-20T13:00:00.000Z'),
  });
  let isOpen = true;
  const close = async () => {
    if (!isOpen) return;
    isOpen = false;
    await reactor.close();
    await mailer.close();
    directory.close();
  };
  t.after(close);

  const record = (stream: string, type: EventType, data: JsonObject, actor: Actor = { type: 'anonymous' }) =>
    append({
      stream,
      expectedVersion: null,
      events: [{ type, data }],
      claims: [],
      releases: [],
      actor,
      correlationId: 'test',
      context: {},
    });
  return { directory, accounts, reactor, record, close };
}

describe('Mails on a real log', () => {
  it('are sent once, over restarts and a rebuild, and leave no token in any file', async (t) => {
    const { port, received } = await startPostOffice(t);
    const folder = quickFolder();
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const expiresAt = new Date(Date.now() + 3_600_000 * 24 * 365 * 100).toISOString();

    const first = await startService(t, folder, port);
    const id = first.directory.create('editors', { email: 'ada@example.org' });
    await first.record(inviteStream(category('editors'), 'invite-1'), 'invite.created', {
      email: 'bob@example.org',
      expiresAt,
    });
    await first.record(accountStream(category('editors'), id), 'password.reset.requested', {
      reset: 'reset-1',
      expiresAt,
    });
    assert.equal(first.accounts.waitingMails().length, 2);
    first.reactor.wake();
    await eventually(() => first.accounts.waitingMails().length === 0);
    await first.close();
    const texts = new Map(received.map(({ to, email }) => [to[0], email.text ?? '']));
    assert.match(texts.get('bob@example.org') ?? '', /accept-invite\?token=secret-of-invite-1$/m);
    assert.match(texts.get('ada@example.org') ?? '', /admin\/reset\?token=secret-of-reset-1$/m);

    for (const isRebuild of [false, true]) {
      const next = await startService(t, folder, port, isRebuild);
      assert.deepEqual(next.accounts.waitingMails(), []);
      await next.close();
    }
    assert.equal(received.length, 2);

    for (const name of readdirSync(folder)) {
      assert.ok(!readFileSync(join(folder, name)).includes('secret-of'), `a token stands in ${name}`);
    }
  });

  it('go to each person whom a request for review names, and no version of the document comes of them', async (t) => {
    const { port, received } = await startPostOffice(t);
    const folder = quickFolder();
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const first = await startService(t, folder, port);
    const [ada, bob, eve] = ['ada', 'bob', 'eve'].map((name) => {
      return `editors/${first.directory.create('editors', { email: `${name}@example.org` })}`;
    }) as [string, string, string];
    await first.record('posts/post-1', 'document.draft.created', { id: 'post-1', title: 'Sale' });
    const asked = { version: 1, to: [ada, bob, ada, 'nowhere'], note: 'Numbers are new.' };
    await first.record('posts/post-1', 'review.requested', asked, { type: 'user', id: eve });
    assert.equal(first.accounts.waitingMails().length, 2);
    first.reactor.wake();
    await eventually(() => first.accounts.waitingMails().length === 0);
    assert.deepEqual(received.map(({ to }) => to[0]).sort(), ['ada@example.org', 'bob@example.org']);
    assert.equal(new Set(received.map(({ email }) => email.messageId)).size, 2);
    for (const { email } of received) {
      assert.match(email.text ?? '', /^eve@example\.org asks you .* a document of posts \(version 1\)/m);
      assert.match(email.text ?? '', /\n\nNumbers are new\.\n\n/);
      assert.match(email.text ?? '', /\/admin\/c\/posts\/post-1$/m);
      assert.doesNotMatch(`${email.subject}${email.text}${email.html}`, /Sale/);
    }
    assert.equal(first.directory.log.versionOf('posts/post-1'), 2);
    assert.equal(first.directory.log.versionOf(`accounts/${ada}`), 1);
    await first.close();

    const next = await startService(t, folder, port, true);
    assert.deepEqual(next.accounts.waitingMails(), []);
    await next.record(
      'posts/post-1',
      'review.refused',
      { version: 1, to: [eve], note: 'No.' },
      { type: 'user', id: ada },
    );
    assert.deepEqual(
      next.accounts.waitingMails().map(({ kind, stream, about }) => [kind, stream, about]),
      [['reviewRefused', `accounts/${eve}`, 'posts/post-1']],
    );
    await next.record('posts/post-1', 'review.requested', { version: 1, to: [bob] }, { type: 'user', id: eve });
    assert.deepEqual(
      next.accounts.waitingMails().map(({ kind }) => kind),
      ['reviewRequested'],
    );
    await next.record('posts/post-1', 'review.withdrawn', {});
    assert.deepEqual(next.accounts.waitingMails(), []);
  });
});
