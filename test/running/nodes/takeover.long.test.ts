import assert from 'node:assert/strict';
import { it } from 'node:test';
import { useMailbox } from '../../helpers/mail.ts';
import { describeWithPostgres, useDatabase } from '../../helpers/postgres.ts';
import type { Service } from '../../helpers/service.ts';
import { startNode } from './node.ts';

const mailbox = await useMailbox();
const environment = { ANNALS_SMTP_URL: mailbox.url, ANNALS_MAIL_FROM: 'annals@example.org' };
const config = { bcryptCost: 4, collections: [{ slug: 'users', auth: { useAPIKey: true }, fields: [] }] };

describeWithPostgres('Mails of nodes', () => {
  const make = useDatabase();

  it('are sent by another node if the sending one stands still; at most one mail comes twice', async (t) => {
    const { address } = await make();
    const a = await startNode(t, address, { config, environment });
    const b = await startNode(t, address, { config, environment });
    const ask = async (node: Service, email: string) => {
      const made = await node.call('POST', '/api/collections/users', { email });
      assert.equal(made.status, 201, JSON.stringify(made.body));
      const asked = await node.call('POST', '/api/collections/users/forgot-password', { email }, { key: null });
      assert.equal(asked.status, 200, JSON.stringify(asked.body));
    };
    // The first node has the turn.
    await ask(b, 'first@example.org');
    await mailbox.next('first@example.org');
    a.child.kill('SIGSTOP');
    await ask(b, 'second@example.org');
    await mailbox.next('second@example.org');
    a.child.kill('SIGCONT');
    for (const [node, email] of [
      [a, 'third@example.org'],
      [b, 'fourth@example.org'],
    ] as const) {
      await ask(node, email);
      await mailbox.next(email);
    }
    // The node may have stood still when it had sent one, and not recorded that: then it came twice, and says so.
    const ids = mailbox.received.map(({ mail }) => mail.messageId);
    assert.equal(new Set(ids).size, 4);
    assert.ok(ids.length <= 5, ids.join(' '));
  });
});
