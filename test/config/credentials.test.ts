import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { checkConfig } from '../../config/check.ts';
import {
  readAccept,
  readFirstUser,
  readForgotten,
  readInvite,
  readLogin,
  readReset,
} from '../../config/credentials.ts';
import { compileValidator } from '../../config/documents.ts';
import { DomainError } from '../../config/errors.ts';

const { collections } = checkConfig({
  collections: [
    {
      slug: 'users',
      auth: true,
      fields: [
        { name: 'name', type: 'text', required: true },
        { name: 'nick', type: 'text', access: { read: () => false } },
      ],
    },
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }] },
  ],
});

function validatorOf(slug: string) {
  const collection = collections.get(slug);
  assert.ok(collection);
  return compileValidator(collection);
}

/** The errors of `run`: field → message. */
function errorsOf(run: () => unknown): { [field: string]: string } {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof DomainError, String(error));
    assert.equal(error.code, 'validation_failed');
    return Object.fromEntries(error.errors.map(({ field, message }) => [field, message]));
  }
  return {};
}

const isTaken = (run: () => unknown) => Object.keys(errorsOf(run)).length === 0;
const password = 'correct horse';

describe('the e-mail of an account', () => {
  const { create, update } = validatorOf('users');

  it('is kept without white space around it and in lower case', () => {
    assert.equal(create({ email: ' Ada@Example.ORG\n', name: 'Ada' }).email, 'ada@example.org');
    assert.equal(update({ email: 'ÉVA@Exämple.org' }).email, 'éva@exämple.org');
    assert.equal(readInvite({ email: '\tAda@Example.org ' }).email, 'ada@example.org');
  });

  it('comes first in the document, and every account has one', () => {
    assert.deepEqual(Object.keys(create({ name: 'Ada', email: 'a@b.co' })), ['email', 'name', 'nick']);
    assert.deepEqual(
      errorsOf(() => create({ name: 'Ada' })),
      { email: 'email is required' },
    );
    assert.deepEqual(
      errorsOf(() => update({ email: null })),
      { email: 'email is required, got null' },
    );
  });

  it('is one address that holds nothing that could be misread in a mail', () => {
    const wrong = [
      '',
      ' ',
      'ada',
      '"ada lovelace"@example.org',
      '"ada"@example.org',
      'ada@example.org\nBcc: b@example.org',
      'ada\r@example.org',
      'ada\0@example.org',
      'a\u0085da@example.org',
      'a\u202eda@example.org',
      'a\u200bda@example.org',
      'a\u00a0da@example.org',
      'a\ud800da@example.org',
      'a@b.co,c@d.co',
      'Ada <ada@example.org>',
      'ada@[127.0.0.1]',
    ];
    for (const email of wrong) {
      assert.match(errorsOf(() => update({ email })).email ?? '', /must be an e-mail address|not be empty/, email);
      assert.ok(!isTaken(() => readInvite({ email })), email);
    }
    for (const email of ["o'neil+tag@example.org", 'ada@intra.lan', 'почта@пример.рф']) {
      assert.equal(update({ email }).email, email);
    }
  });

  it('has at most 254 characters, what is trimmed not counted', () => {
    const longest = `${'a'.repeat(242)}@example.org`;
    assert.equal(update({ email: `  ${longest}  ` }).email, longest);
    assert.match(
      errorsOf(() => update({ email: `a${longest}` })).email ?? '',
      /^email must have at most 254 characters/,
    );
  });

  it('is what it is after being read twice', () => {
    fc.assert(
      fc.property(fc.emailAddress(), (address) => {
        const kept = readInvite({ email: address });
        assert.deepEqual(readInvite(kept), kept);
      }),
    );
  });
});

describe('the password of an account', () => {
  const { create, update } = validatorOf('users');

  it('may come with a create and an update, and is never in what they give', () => {
    assert.deepEqual(create({ email: 'a@b.co', name: 'Ada', password }), { email: 'a@b.co', name: 'Ada', nick: null });
    assert.deepEqual(update({ password }), {});
  });

  it('has 8 characters to 72 bytes and is a clean text', () => {
    const right = ['12345678', ' '.repeat(8), '🎉'.repeat(8), 'x'.repeat(72), 'é'.repeat(36), '🎉'.repeat(18)];
    for (const text of right) {
      assert.deepEqual(update({ password: text }), {});
      assert.equal(readReset({ token: 'abc', password: text }).password, text);
    }
    const wrong: [unknown, string][] = [
      ['', 'password must have at least 8 characters'],
      ['1234567', 'password must have at least 8 characters'],
      ['🎉'.repeat(7), 'password must have at least 8 characters'],
      ['x'.repeat(73), 'password must have at most 72 bytes in UTF-8, where letters like "é" take two or more'],
      ['é'.repeat(37), 'password must have at most 72 bytes in UTF-8, where letters like "é" take two or more'],
      ['12345678\0', 'password must not hold NUL characters or lone surrogates'],
      ['12345678\ud800', 'password must not hold NUL characters or lone surrogates'],
      [null, 'password must be a text'],
      [12345678, 'password must be a text'],
      [['s3cret-s3cret'], 'password must be a text'],
      [{ s3cret: 's3cret-s3cret' }, 'password must be a text'],
    ];
    for (const [value, message] of wrong) {
      for (const run of [() => update({ password: value }), () => readReset({ token: 'abc', password: value })]) {
        assert.deepEqual(errorsOf(run), { password: message });
      }
    }
  });

  it('is judged together with the fields', () => {
    assert.deepEqual(
      errorsOf(() => create({ email: 'ada', password: 's3cret', pasword: 's3cret' })),
      {
        email: 'email must be an e-mail address, got "ada"',
        name: 'name is required',
        password: 'password must have at least 8 characters',
        pasword: 'pasword is not a field; did you mean "password"?',
      },
    );
  });

  it('is unknown to other collections', () => {
    assert.deepEqual(Object.keys(errorsOf(() => validatorOf('posts').create({ title: 'x', password }))), ['password']);
  });
});

describe('the body of a login', () => {
  it('is an e-mail in its one form, and a password', () => {
    assert.deepEqual(readLogin({ email: ' Ada@Example.org ', password }), { email: 'ada@example.org', password });
    assert.equal(readLogin({ email: 'unknown', password }).email, 'unknown');
  });

  it('with a password that no user can have chosen is a wrong one, not a wrong body', () => {
    const longest = 'x'.repeat(72);
    assert.equal(readLogin({ email: 'a@b.co', password: longest }).password, longest);
    for (const text of ['', 'short', `${longest}x`, 'NUL inside \0 it', 'x'.repeat(500_000)]) {
      assert.equal(readLogin({ email: 'a@b.co', password: text }).password, '');
    }
  });

  it('is refused naming each wrong member, without a trace of the password', () => {
    const wrong: [unknown, object][] = [
      [{}, { email: 'email is required', password: 'password is required' }],
      [
        { email: ['a@b.co'], password: 12345678 },
        { email: 'email must be a text, got a list of 1', password: 'password must be a text' },
      ],
      [
        { email: { equals: 'a' }, password: { s3cret: 1 } },
        { email: 'email must be a text, got an object', password: 'password must be a text' },
      ],
      [
        { email: null, password: null },
        { email: 'email is required, got null', password: 'password must be a text' },
      ],
      [{ emial: 'a@b.co', email: 'a@b.co', password }, { emial: 'emial is not a field; did you mean "email"?' }],
    ];
    for (const [body, errors] of wrong)
      assert.deepEqual(
        errorsOf(() => readLogin(body)),
        errors,
      );
    const long = errorsOf(() => readLogin({ email: `${'x'.repeat(1000)}@b.co`, password })).email ?? '';
    assert.match(long, /^email must have at most 1000 characters, got "x{50}"…$/);
    for (const body of [undefined, null, 3, 'x', [], [{ email: 'a@b.co', password }]]) {
      assert.throws(() => readLogin(body), { code: 'validation_failed', message: 'the body must be a JSON object' });
    }
  });

  it('is never read from a prototype', () => {
    const hidden = JSON.parse(`{"__proto__":{"email":"a@b.co","password":"${password}"}}`);
    assert.deepEqual(Object.keys(errorsOf(() => readLogin(hidden))), ['email', 'password']);
    assert.deepEqual(Object.keys(errorsOf(() => readAccept(hidden))), ['token', 'password']);
  });
});

describe('the bodies of the other account routes', () => {
  it('take any text for a forgotten e-mail, but invite only an address', () => {
    assert.deepEqual(readForgotten({ email: 'UNKNOWN' }), { email: 'unknown' });
    assert.deepEqual(readInvite({ email: 'Ada@Example.org' }), { email: 'ada@example.org' });
    assert.deepEqual(
      errorsOf(() => readInvite({ email: 'unknown' })),
      { email: 'email must be an e-mail address, got "unknown"' },
    );
    for (const email of ['=?utf-8?q?x?=@x.org', 'a=?utf-8?b?YQ==?=@x.org']) {
      assert.match(
        errorsOf(() => readInvite({ email })).email ?? '',
        /^email must be an e-mail address, and no encoded word \(RFC 2047\), got "/,
      );
    }
    assert.deepEqual(readInvite({ email: 'a=?b@x.org' }), { email: 'a=?b@x.org' });
    for (const read of [readForgotten, readInvite]) {
      assert.deepEqual(Object.keys(errorsOf(() => read({ email: 3 }))), ['email']);
      assert.deepEqual(Object.keys(errorsOf(() => read({ email: 'a@b.co', name: 'x' }))), ['name']);
    }
  });

  it('of a reset hold a token and a password that may be chosen', () => {
    assert.deepEqual(readReset({ token: 'any', password }), { token: 'any', password });
    assert.deepEqual(
      errorsOf(() => readReset({ token: 3, password: 's3cret' })),
      { token: 'token must be a text', password: 'password must have at least 8 characters' },
    );
    const errors = errorsOf(() => readReset({ token: 'x'.repeat(1001), password }));
    assert.deepEqual(errors, { token: 'token must have at most 1000 characters' });
  });

  it('of an invited user are a token, and what the validator of the collection judges as one', () => {
    const { token, values, ...rest } = readAccept({ token: 'any', password: 'short', nme: 'Ada' });
    assert.deepEqual([token, rest], ['any', { password: 'short' }]);
    const { create } = validatorOf('users');
    assert.deepEqual(
      errorsOf(() => create({ ...values, email: 'a@b.co' })),
      {
        name: 'name is required',
        password: 'password must have at least 8 characters',
        nme: 'nme is not a field; did you mean "name"?',
      },
    );
  });

  it('of an invited user may not choose the e-mail', () => {
    assert.deepEqual(
      errorsOf(() => readAccept({ email: 'b@b.co' })),
      { token: 'token is required', password: 'password is required', email: 'email may not be given here' },
    );
  });

  it('of the first user are a setup token, and what the validator judges', () => {
    const { values, ...rest } = readFirstUser({ setupToken: 't', email: 'Ada@b.co ', password, name: 'Ada' });
    assert.deepEqual(rest, { setupToken: 't', email: 'ada@b.co', password });
    assert.deepEqual(validatorOf('users').create(values), { email: 'ada@b.co', name: 'Ada', nick: null });
    assert.deepEqual(Object.keys(errorsOf(() => readFirstUser({ name: 'Ada' }))), ['setupToken', 'email', 'password']);
  });
});

describe('whatever JSON comes', () => {
  const { create, update } = validatorOf('users');
  const readers = [readLogin, readForgotten, readInvite, readReset, readAccept, readFirstUser, create, update];
  const names = fc.constantFrom('email', 'password', 'token', 'setupToken', 'name', '__proto__', 'constructor');
  const values = fc.oneof(fc.constantFrom('a@b.co', password, '', null), fc.jsonValue());
  const bodies = fc
    .array(fc.tuple(names, values), { maxLength: 6 })
    // JSON.parse makes `__proto__` an ordinary key.
    .map((entries) => JSON.parse(`{${entries.map((entry) => entry.map((one) => JSON.stringify(one)).join(':'))}}`));

  it('is taken or refused as invalid, and no message holds the password', () => {
    fc.assert(
      fc.property(fc.oneof(bodies, fc.jsonValue()), (body) => {
        for (const read of readers) {
          try {
            read(body);
          } catch (error) {
            if (!(error instanceof DomainError)) throw error;
            assert.equal(error.code, 'validation_failed');
            const told = error.errors.find(({ field }) => field === 'password')?.message ?? '';
            assert.match(told, /^$|^password (is required|is not a field|must (be a text|have at .*|not hold .*))$/);
          }
        }
      }),
      { numRuns: 1000 },
    );
  });
});
