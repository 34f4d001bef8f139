// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of sources
import type { Mutation } from './mutation.ts';

const keys = 'test/accounts/keys.test.ts';
const cookies = 'test/callers/cookies.test.ts';
const tokens = 'test/accounts/tokens.test.ts';
const accounts = 'test/projections/accounts.test.ts';

/** Faults of credentials: keys, tokens, cookies, locks. */
export const callerMutations: readonly Mutation[] = [
  {
    what: 'A revoked key that was used before is still valid.',
    file: 'projections/tables/api-keys.ts',
    text: 'SET credential = NULL, previous = NULL, previous_until = NULL, is_revoked = 1',
    replacement: 'SET is_revoked = 1',
    test: { file: keys, name: 'are refused as soon as they are revoked, also those that were used a moment ago' },
  },
  {
    what: 'A key is valid after its end.',
    file: 'server/callers/made-keys.ts',
    text: 'if (expiresAt !== null && expiresAt <= now) return [null, null];',
    replacement: '',
    test: { file: keys, name: 'are refused with one answer, whatever is wrong with them' },
  },
  {
    what: 'The secret that a key had before is valid for ever.',
    file: 'server/callers/made-keys.ts',
    text: 'previousUntil !== null && previousUntil > now ? previous : null',
    replacement: 'previous',
    test: { file: keys, name: 'leaves the one before valid for as long as it was told, and no longer' },
  },
  {
    what: 'A token is valid for a minute after its end.',
    file: 'server/callers/tokens.ts',
    text: 'return exp > seconds &&',
    replacement: 'return exp + 60 > seconds &&',
    test: { file: tokens, name: 'holds to its second, and not from further in the future than clocks differ' },
  },
  {
    what: 'The token of another site that has the same secret is taken.',
    file: 'server/callers/tokens.ts',
    text: ' && (claims.site ?? null) === site;',
    replacement: ';',
    test: { file: tokens, name: 'holds at its own site only, also if another has the same secret' },
  },
  {
    what: 'A token is taken that no secret of the service has signed.',
    file: 'server/callers/tokens.ts',
    text: 'secrets.some((secret) => isSignedBy(artifacts, secret)) &&',
    replacement: '',
    test: {
      file: 'test/advisories/accounts.test.ts',
      name: 'CVE-2023-22893, GHSA-xv3q-jrmm-4fxv (Strapi): a token without our signature is refused, whatever algorithm it names',
    },
  },
  {
    what: 'A token is taken that names another collection than that of its session.',
    file: 'server/callers/authentication.ts',
    text: ' || !isCalled(claims.collection, target.slug)',
    replacement: '',
    test: {
      file: 'test/accounts/tokens.test.ts',
      name: 'holds in the collection of its session, and under the name of no other',
    },
  },
  {
    what: 'A token is taken whose session has ended.',
    file: 'server/callers/authentication.ts',
    text: 'const holder = claims && accounts.holder(claims.sid);',
    replacement: 'const holder = claims && (accounts.holder(claims.sid) ?? `${claims.collection}/${claims.sub}`);',
    test: { file: 'test/accounts/accounts.test.ts', name: 'is logged out at once, and no other user is' },
  },
  {
    what: 'A write is recorded whose caller was logged out before its body had come.',
    file: 'server/documents/write/writes.ts',
    text: 'requireLiving(app, request);',
    replacement: '',
    test: {
      file: 'test/accounts/accounts.test.ts',
      name: 'is not carried out when they are logged out before it has arrived',
    },
  },
  {
    what: 'A change of the password ends no session of those who know the former one.',
    file: 'projections/tables/account-fold.ts',
    text: 'sessions.endAll({ category, id }, textOf(data.keeps));',
    replacement: '',
    test: { file: accounts, name: 'ends with a change of the password, but for the one that made it' },
  },
  {
    what: 'The sessions of a deleted user go on.',
    file: 'projections/tables/account-fold.ts',
    text: 'mails.removeWith([reset]);\n  sessions.endAll({ category, id });',
    replacement: 'mails.removeWith([reset]);',
    test: { file: accounts, name: 'ends with the document of its user, and no other session with it' },
  },
  {
    what: 'The mail of a reset sets a password once more after it was changed.',
    file: 'projections/tables/account-fold.ts',
    text: 'mails.removeWith([accounts.replaceReset(header.stream, null)]);',
    replacement: '',
    test: { file: accounts, name: 'has one reset at a time, the newest, until its password is changed by any way' },
  },
  {
    what: 'An invitation makes any number of accounts.',
    file: 'projections/tables/account-fold.ts',
    text: 'invites.remove(event.id);',
    replacement: '',
    test: { file: accounts, name: 'is found by its id until it is accepted, with the version of its stream' },
  },
  {
    what: 'A mail that was sent is sent again.',
    file: 'projections/tables/account-fold.ts',
    text: "'email.sent': ({ header, data }: Pick<AccountEvent, 'header' | 'data'>) =>\n      mails.remove(textOf(data.event), header.stream),",
    replacement: "'email.sent': () => {},",
    test: {
      file: accounts,
      name: 'that was sent or given up is not sent again, not after a restart and not after a rebuild',
    },
  },
  {
    what: 'The token of an invitation resets a password.',
    file: 'server/accounts/one-time-tokens.ts',
    text: 'JSON.stringify([kind, category, id])',
    replacement: 'JSON.stringify([category, id])',
    test: {
      file: 'test/accounts/password-service.test.ts',
      name: 'are opened by what they were made for and nothing else, after a restart too',
    },
  },
  {
    what: 'An account is locked one failure later than it is told.',
    file: 'server/accounts/lockout.ts',
    text: 'failures >= rule.maxLoginAttempts',
    replacement: 'failures > rule.maxLoginAttempts',
    test: {
      file: 'test/accounts/lockout.test.ts',
      name: 'locks at the last one that is allowed, for exactly the lock time',
    },
  },
  {
    what: 'A page of another site writes with the cookie of a user.',
    file: 'server/callers/cookies.ts',
    text: '!safeMethods.includes(request.method) && !isFromOwnPage(request, baseUrl);',
    replacement: 'false && !isFromOwnPage(request, baseUrl);',
    test: { file: cookies, name: 'gives no right to write if it comes from another site' },
  },
  {
    what: 'A page of another host of the same site writes with the cookie of a user.',
    file: 'server/callers/cookies.ts',
    text: "if (site !== undefined) return site === 'same-origin';",
    replacement: "if (site !== undefined) return site !== 'cross-site';",
    test: { file: cookies, name: 'gives no right to write if it comes from another host of the same site' },
  },
  {
    what: 'A page of the same host in the open writes with the cookie of a user.',
    file: 'server/http/cors.ts',
    text: '(host === ownHost && protocol === own.protocol)',
    replacement: 'host === ownHost',
    test: { file: cookies, name: 'gives no right to write if it comes from our address, in the open' },
  },
  {
    what: 'Another site sets the cookie of a session.',
    file: 'server/callers/cookies.ts',
    text: 'if (!auth?.cookies || isPlanted(app, h.request, auth.cookies)) return;',
    replacement: 'if (!auth?.cookies) return;',
    test: { file: cookies, name: 'is not set for a page of another site, which would log a user in as somebody else' },
  },
  {
    what: 'Scripts read the cookie of a session.',
    file: 'server/callers/cookies.ts',
    text: 'isHttpOnly: true,',
    replacement: 'isHttpOnly: false,',
    test: {
      file: cookies,
      name: 'is out of the reach of scripts, of plain HTTP and of other sites, and ends with its token',
    },
  },
  {
    what: 'Pages of every origin read the answers.',
    file: 'server/http/cors.ts',
    text: 'const isAllowed = isAny || (origin !== undefined && listed.has(origin));',
    replacement: 'const isAllowed = isAny || origin !== undefined;',
    test: { file: 'test/http/cors.test.ts', name: 'from another origin gets nothing that would let it in' },
  },
  {
    what: 'The paths of the operator are told to all callers, by the methods that they have.',
    file: 'server/http/methods.ts',
    text: 'if (path.startsWith(hidden)) return null;',
    replacement: '',
    test: {
      file: 'test/http/methods.test.ts',
      name: 'is a 404 for every method if there is no such collection, global or route',
    },
  },
  {
    what: 'Every caller of a public account route sees how often others use an e-mail address.',
    file: 'server/http/rate-limit.ts',
    text: 'emailWait > 0 ?',
    replacement: 'emailWait >= 0 ?',
    test: {
      file: 'test/http/rate-limit.test.ts',
      name: 'tell how many calls are left, and of an e-mail only that none is',
    },
  },
  {
    what: 'Preferences are changed although others have changed them since they were read.',
    file: 'server/accounts/preferences.ts',
    text: '!expected.includes(tagOf(before',
    replacement: 'expected.includes(tagOf(before',
    test: { file: 'test/accounts/preferences.test.ts', name: 'have a tag, which a change may name' },
  },
];
