import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { checkConfig } from '../../../config/check.ts';
import type { Config } from '../../../config/define.ts';
import type { User } from '../../../config/model.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { accountStream, type EventType, inviteStream } from '../../../events/facts/catalogue.ts';
import type { Append, Outcome } from '../../../events/facts/log.ts';
import { openAccounts } from '../../../projections/tables/accounts.ts';
import { startReactor } from '../../../server/accounts/mail/reactor.ts';
import { openMail } from '../../../server/accounts/mail/transport.ts';
import { category } from '../../helpers/category.ts';
import { eventually } from '../../helpers/shared.ts';
import { type Directory, openDirectory, quickFolder } from '../../projections/directory.ts';
import { openLog, startPostOffice } from './post-office.ts';

const config: Config = { collections: [{ slug: 'editors', auth: true, fields: [] }] };

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
    append,
    mailer,
    log,
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

  const record = (stream: string, type: EventType, data: JsonObject) =>
    append({
      stream,
      expectedVersion: null,
      events: [{ type, data }],
      claims: [],
      releases: [],
      actor: { type: 'anonymous' },
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
});
