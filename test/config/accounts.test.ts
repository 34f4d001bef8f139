import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import { defineConfig } from '../../config/define.ts';
import { problemsOf } from './problems.ts';

const users = (more: object = {}) => ({ slug: 'users', auth: true, fields: [], ...more });

/** The problems of one auth collection, their paths without its own. */
function userProblems(more: object): string[] {
  return problemsOf({ collections: [users(more)] }).map((line) => line.replace('collections.users.', ''));
}

const warningsOf = (input: object) => checkConfig(input).warnings;

describe('an auth collection', () => {
  const { collections, schema } = checkConfig({
    collections: [users({ fields: [{ name: 'name', type: 'text' }] }), { slug: 'posts', fields: [], auth: false }],
  });

  it('has the options of the contract, each with its default', () => {
    assert.deepEqual(collections.get('users')?.auth, {
      tokenExpiration: 7200,
      maxLoginAttempts: 5,
      lockTime: 600,
      useAPIKey: false,
      depth: 0,
      cookies: { secure: null, sameSite: 'Lax', domain: null },
    });
    assert.equal(collections.get('posts')?.auth, null);
  });

  it('takes options of its own', () => {
    const options = { tokenExpiration: 60, maxLoginAttempts: 1, lockTime: 1, useAPIKey: true, depth: 10 };
    const cookies = { secure: true, sameSite: 'none', domain: '.Example.org' };
    const model = checkConfig({ collections: [users({ auth: { ...options, cookies } })] });
    const expected = { ...options, cookies: { ...cookies, sameSite: 'None' } };
    assert.deepEqual(model.collections.get('users')?.auth, expected);
    const without = checkConfig({ collections: [users({ auth: { cookies: false } })] });
    assert.equal(without.collections.get('users')?.auth?.cookies, null);
  });

  it('has an e-mail before its own fields: required, unique and at most 254 characters', () => {
    const email = { name: 'email', type: 'email', required: true, unique: true, maxLength: 254 };
    const own = { name: 'name', type: 'text' };
    assert.deepEqual(schema.collections[0], { slug: 'users', fields: [email, own], auth: true });
    assert.deepEqual(collections.get('users')?.fields, [{ ...email, isAccountEmail: true }, own]);
    assert.deepEqual(schema.collections[1], { slug: 'posts', fields: [] });
  });

  it('may be a target of relationships and joins like any other', () => {
    const posts = { slug: 'posts', fields: [{ name: 'author', type: 'relationship', relationTo: 'users' }] };
    const own = [{ name: 'posts', type: 'join', collection: 'posts', on: 'author' }];
    assert.deepEqual(problemsOf({ collections: [posts, users({ fields: own })] }), []);
  });

  it('is refused with every wrong option, its path and what is allowed', () => {
    const auth = {
      tokenExpiration: 0,
      maxLoginAttempts: 1.5,
      lockTime: '10m',
      useApiKey: true,
      depth: 11,
      cookies: { secure: 'yes', sameSite: 'laxx', domain: 'https://example.org', path: '/' },
    };
    assert.deepEqual(userProblems({ auth }), [
      'auth.useApiKey: is not a key of auth; did you mean "useAPIKey"?',
      'auth.lockTime: must be a whole number of seconds from 1 to 3155760000, got "10m"',
      'auth.tokenExpiration: must be a whole number of seconds from 1 to 3155760000, got 0',
      'auth.maxLoginAttempts: must be a whole number from 1, got 1.5',
      'auth.depth: must be a whole number from 0 to 10, got 11',
      'auth.cookies.path: is not a key of cookies',
      'auth.cookies.secure: must be true or false, got "yes"',
      'auth.cookies.sameSite: must be one of "Lax", "Strict", "None", got "laxx"; did you mean "Lax"?',
      'auth.cookies.domain: must be a domain such as "example.org", got "https://example.org"',
    ]);
    for (const domain of ['example.org:80', '.', 'a..b', `${'a'.repeat(64)}.org`, 'xn--bcher-kva.example', '']) {
      assert.match(userProblems({ auth: { cookies: { domain } } }).join(), /^auth\.cookies\.domain: must be a domain/);
    }
    for (const wrong of ['yes', 1, null, []]) {
      assert.match(userProblems({ auth: wrong }).join(), /^auth: must be true, false or an object, got /);
    }
    assert.deepEqual(userProblems({ auth: { cookies: true } }), ['auth.cookies: must be false or an object, got true']);
  });

  it('is refused with a cookie that no browser would keep', () => {
    assert.deepEqual(userProblems({ auth: { cookies: { sameSite: 'None', secure: false } } }), [
      'auth.cookies.secure: must not be false with sameSite "None": browsers refuse such a cookie',
    ]);
  });

  it('does not give its e-mail away to a field that was called so before', () => {
    const fields = [{ name: 'contact', type: 'email', renamedFrom: 'email' }];
    assert.deepEqual(userProblems({ fields }), ['fields.contact.renamedFrom: "email" is still a field here']);
  });

  it('warns of a lock above a day, which is mostly meant in milliseconds', () => {
    assert.deepEqual(warningsOf({ collections: [users({ auth: { lockTime: 600_000 } })] }), [
      'collections.users.auth.lockTime: 600000 is more than a day; these are seconds',
    ]);
    assert.deepEqual(warningsOf({ collections: [users({ auth: { lockTime: 86_400 } })] }), []);
  });

  it('warns of a field that a new user has no way to fill', () => {
    const warnings = warningsOf({ collections: [users({ fields: [{ name: 'token', type: 'text' }] })] });
    assert.match(warnings.join(), /^collections\.users\.fields\.token: cannot be set by a new user/);
  });
});

describe('the admin collection', () => {
  const adminOf = (...collections: object[]) => checkConfig({ collections }).adminCollection;

  it('is __admins, else the first auth collection, else none', () => {
    const posts = { slug: 'posts', fields: [] };
    const [members, admins] = [users({ slug: 'members' }), users({ slug: '__admins' })];
    assert.equal(adminOf(posts, members, admins), '__admins');
    assert.equal(adminOf(posts, members, users()), 'members');
    assert.equal(adminOf(posts), null);
    assert.equal(adminOf(members, { ...posts, slug: '__admins' }), 'members');
  });
});

describe('rules that are missing', () => {
  const rule = () => true;
  const posts = { slug: 'posts', fields: [], access: { read: rule } };
  const pages = { slug: 'pages', fields: [], access: { read: rule, create: rule, update: rule, delete: rule } };

  it('are a warning if there are users of several kinds', () => {
    const several = [users(), users({ slug: 'members' })];
    assert.deepEqual(warningsOf({ collections: [...several, posts, pages] }), [
      'collections.posts.access: there is no rule for create, update, delete, so every user of "users", "members" may',
    ]);
    assert.deepEqual(warningsOf({ collections: [users(), posts, pages] }), []);
  });
});

describe('urls', () => {
  it('are pages of the author’s own', () => {
    const urls = { acceptInvite: 'https://example.org/join?from=mail', login: 'http://localhost:3000' };
    const model = checkConfig({ collections: [users({ urls })] });
    assert.deepEqual(model.collections.get('users')?.urls, urls);
  });

  it('are refused if they are invalid, carry a token, or belong to no accounts', () => {
    const urls = { acceptInvite: '/join', resetPasword: 'https://a.example', login: 'https://a.example/?token=1' };
    const must = 'must be an absolute http or https URL without a parameter "token"';
    assert.deepEqual(userProblems({ urls }), [
      'urls.resetPasword: is not a key of urls; did you mean "resetPassword"?',
      `urls.acceptInvite: ${must}, got "/join"`,
      `urls.login: ${must}, got "https://a.example/?token=1"`,
    ]);
    assert.deepEqual(problemsOf({ collections: [{ slug: 'posts', fields: [], urls: {} }] }), [
      'collections.posts.urls: is only for auth collections; this one has no auth',
    ]);
  });
});

describe('email', () => {
  const emailOf = (email: unknown) => checkConfig({ collections: [users()], email }).email;
  const emailProblems = (email: unknown) => problemsOf({ collections: [users()], email });

  it('may come from the environment wholly or in part', () => {
    assert.equal(emailOf(undefined), null);
    assert.equal(emailOf(false), null);
    assert.deepEqual(emailOf({}), { templates: {} });
    const transport = { host: 'mail.example.org', auth: { user: 'a', pass: 'b' } };
    assert.equal(emailOf({ transport })?.transport, transport);
  });

  it('takes an address with or without a name', () => {
    for (const from of [
      'ada@example.org',
      'Ada <ada@example.org>',
      '"Lovelace, Ada" <ada@example.org>',
      '"Ada \\"Countess\\" Lovelace" <ada@example.org>',
      'Zoë <zoë@éxample.org>',
      '<ada@example.org>',
    ]) {
      assert.equal(emailOf({ from })?.from, from);
    }
    for (const from of [
      'Ada',
      'Ada <>',
      'Lovelace, Ada <ada@example.org>',
      'a@example.org, b@example.org',
      'Ada\r\nBcc: b@example.org <ada@example.org>',
      'ada@example.org\nBcc: b@example.org',
      'Team: ada@example.org;',
      'ada@example.org <b@example.org>',
      '"a b"@example.org',
      '"Ada\\" <ada@example.org>',
      'Ada <ada@example.org> (she)',
      'Ada <<ada@example.org>>',
      3,
    ]) {
      assert.match(
        emailProblems({ from }).join(),
        /^email\.from: must be an e-mail address, or "Name <address>", got /,
      );
    }
  });

  it('takes SMTP URLs, and shows nothing of one that is wrong', () => {
    for (const transport of [
      'smtp://localhost',
      'smtps://user:pass@mail.example.org:465',
      'smtp://user%40example.org:p%2Fw@[::1]:25/?pool=true',
    ]) {
      assert.equal(emailOf({ transport })?.transport, transport);
    }
    for (const transport of [
      'mail.example.org',
      'stmp://user:s3cret@mail.example.org',
      'https://user:s3cret@mail.example.org',
      'smtp://',
      'smtp://user:s3cret/x@mail.example.org',
      'smtp://user:1/s3cret@mail.example.org',
      'smtp://user:1?s3cret@mail.example.org',
      'smtp://user:1#s3cret@mail.example.org',
      'smtp://user:s3cret%@mail.example.org',
      'smtp://user:s3cret@mail.example.org:99999',
      'smtp://user:s3\ncret@mail.example.org',
      's3cret',
    ]) {
      const problems = emailProblems({ transport }).join();
      assert.match(problems, /^email\.transport: must be an SMTP URL such as .*; got a text of another form$/);
      assert.ok(!problems.includes('s3cret'), problems);
    }
    assert.match(emailProblems({ transport: [1] }).join(), /got a list of 1$/);
  });

  it('takes templates mail by mail and part by part', () => {
    const subject = () => 'Welcome';
    assert.deepEqual(emailOf({ templates: { welcome: { subject } } })?.templates, { welcome: { subject } });
    assert.deepEqual(
      emailProblems({ form: 'a@b.co', templates: { welcom: {}, welcome: { html: '<p>', txt: subject } } }),
      [
        'email.form: is not a key of email; did you mean "from"?',
        'email.templates.welcom: is not a key of templates; did you mean "welcome"?',
        'email.templates.welcome.txt: is not a key of a template; did you mean "text"?',
        'email.templates.welcome.html: must be a function, got "<p>"',
      ],
    );
    assert.deepEqual(emailProblems('smtp://x'), ['email: must be false or an object, got a text of another form']);
  });
});

describe('rateLimit and bcryptCost', () => {
  const model = (more: object) => checkConfig({ collections: [users()], ...more });

  it('have defaults, and rateLimit may be turned off', () => {
    assert.deepEqual([model({}).rateLimit, model({}).bcryptCost], [{ address: 300, email: 60 }, 12]);
    assert.deepEqual(model({ rateLimit: { email: 5 } }).rateLimit, { address: 300, email: 5 });
    assert.equal(model({ rateLimit: false }).rateLimit, null);
  });

  it('are refused out of their bounds', () => {
    assert.deepEqual(
      problemsOf({ collections: [users()], rateLimit: { adress: 1, address: 0, email: '9' }, bcryptCost: 21 }),
      [
        'rateLimit.adress: is not a key of rateLimit; did you mean "address"?',
        'rateLimit.address: must be a whole number of calls in a minute from 1, got 0',
        'rateLimit.email: must be a whole number of calls in a minute from 1, got "9"',
        'bcryptCost: must be a whole number from 4 to 20, got 21',
      ],
    );
    assert.deepEqual(problemsOf({ collections: [users()], rateLimit: true }), [
      'rateLimit: must be false or an object, got true',
    ]);
  });

  it('warn of a cost that only tests should have', () => {
    assert.deepEqual(model({ bcryptCost: 10 }).warnings, []);
    assert.deepEqual(model({ bcryptCost: 4 }).warnings, ['bcryptCost: 4 is for tests; passwords need 10 or more']);
  });
});

describe('defineConfig', () => {
  it('knows the types of all that, and what it takes passes the check', () => {
    const config = defineConfig({
      bcryptCost: 11,
      rateLimit: { address: 100 },
      email: {
        from: 'Annals <annals@example.org>',
        transport: 'smtp://localhost:1025',
        templates: {
          invitation: { subject: ({ collection }) => `Join ${collection}`, html: async ({ url }) => `${url}` },
        },
      },
      collections: [
        { slug: '__admins', auth: true, fields: [] },
        {
          slug: 'members',
          auth: { tokenExpiration: 3600, cookies: { sameSite: 'Strict' } },
          urls: { resetPassword: 'https://example.org/reset' },
          fields: [{ name: 'name', type: 'text' }],
        },
      ],
    });
    assert.equal(config.collections[0].slug, '__admins');
    assert.equal(checkConfig(config).collections.size, 2);
  });
});
