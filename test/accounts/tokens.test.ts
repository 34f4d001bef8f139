import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { headerOf, payloadOf } from '../../events/facts/envelope.ts';
import { signedClaims, signToken, tokenReader } from '../../server/callers/tokens.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { anonymous, bearer } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { eventually } from '../helpers/shared.ts';

const secret = 'a secret that signs the tokens of this test';
const withAccounts = (slug: string) => ({ slug, auth: true, fields: [] });
const service = useServiceHere(
  { bcryptCost: 4, collections: [withAccounts('users'), withAccounts('members'), { slug: 'posts', fields: [] }] },
  { secrets: [secret] },
);
const users = '/api/collections/users';
const day = 24 * 3600 * 1000;

describe('The token of a session', () => {
  const secrets = ['a secret that two sites were given'];
  const now = Date.parse('2026-11-29T12:00:00.000Z');
  const claims = { sub: 'ada', collection: 'users', sid: 's1' };
  const signed = (site?: string) => signToken(secrets, { ...claims, ...(site && { site }) }, { ttlSec: 60, now });
  const holds = (token: string, site: string | null, time = now) => tokenReader(secrets, site)(token, time) !== null;

  it('holds at its own site only, also if another has the same secret', () => {
    const tokens = [signed(), signed('acme'), signed('beta')];
    const at = (site: string | null) => tokens.map((token) => holds(token, site));
    assert.deepEqual([null, 'acme', 'beta'].map(at), [
      [true, false, false],
      [false, true, false],
      [false, false, true],
    ]);
    assert.equal(signedClaims(secrets, 'beta', signed('acme')), null);
  });

  it('holds to its second, and not from further in the future than clocks differ', () => {
    const token = signed();
    assert.deepEqual(
      [59_999, 60_000, -60_000, -61_000].map((milliseconds) => holds(token, null, now + milliseconds)),
      [true, false, true, false],
    );
  });
});

describe('A token of an account', () => {
  const ada = { email: 'ada@example.org', password: 'correct horse' };
  let token: string;

  before(async () => {
    const setupToken = new URL(service.setupUrl ?? '').searchParams.get('token');
    const first = await service.call('POST', `${users}/first-user`, { setupToken, ...ada }, anonymous);
    assert.equal(first.status, 201, JSON.stringify(first.body));
    token = first.body.token;
  });

  /** The time between each event and the end of what it has made, in milliseconds, by the type of the event. */
  function lifetimes(): Map<string, number> {
    return withDatabase(join(service.data, 'log.db'), { readonly: true }, (db) => {
      const rows = db
        .prepare<[], { header: string; body: string }>(
          'SELECT header, body FROM headers JOIN payloads USING (position)',
        )
        .all();
      return new Map(
        rows.map(({ header, body }) => {
          const [{ type, recordedAt }, { data }] = [headerOf(header), payloadOf(body)];
          return [type, Date.parse(String(data.expiresAt)) - Date.parse(recordedAt)];
        }),
      );
    });
  }

  it('holds in the collection of its session, and under the name of no other', async () => {
    const {
      iat: _iat,
      exp: _exp,
      ...claims
    } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    const statusOf = async (collection: string) => {
      const signed = signToken([secret], { ...claims, collection }, { ttlSec: 60, now: Date.now() });
      return (await service.call('GET', `${users}/me`, undefined, bearer(signed))).status;
    };
    assert.deepEqual(await Promise.all(['users', 'members', 'posts', 'others'].map(statusOf)), [200, 401, 401, 401]);
  });

  it('lives by mail as long as the documentation says: an invitation for 7 days, a reset for an hour', async () => {
    const invite = { email: 'bob@example.org' };
    const invited = await service.call('POST', `${users}/invite`, invite, bearer(token));
    assert.equal(invited.status, 200, JSON.stringify(invited.body));
    const asked = await service.call('POST', `${users}/forgot-password`, { email: ada.email }, anonymous);
    assert.equal(asked.status, 200);
    // A reset is recorded after its answer.
    await eventually(() => lifetimes().has('password.reset.requested'));
    const found = lifetimes();
    for (const [type, milliseconds] of [
      ['invite.created', 7 * day],
      ['password.reset.requested', 3_600_000],
      ['session.started', 7_200_000],
    ] as const) {
      const lasts = found.get(type) ?? 0;
      assert.ok(Math.abs(lasts - milliseconds) < 60_000, `${type}: ${lasts} ms`);
    }
  });
});
