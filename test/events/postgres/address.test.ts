import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readAddress } from '../../../events/postgres/address.ts';

describe('The address of PostgreSQL', () => {
  it('names a role, a password, hosts with ports, and a database', () => {
    assert.deepEqual(readAddress('postgres://annals:p%40ss%2F@db1.example:5433,db2.example,[fd00::1]:5434/content'), {
      hosts: [
        { host: 'db1.example', port: 5433 },
        { host: 'db2.example', port: 5432 },
        { host: 'fd00::1', port: 5434 },
      ],
      user: 'annals',
      password: 'p@ss/',
      database: 'content',
      tls: {},
    });
  });

  it('has connections checked by certificates, unless it says otherwise or means this machine', () => {
    const tlsOf = (rest: string) => readAddress(`postgresql://annals@${rest}`).tls;
    assert.deepEqual(tlsOf('db1.example/a'), {});
    assert.equal(tlsOf('db1.example/a?sslmode=disable'), false);
    assert.equal(tlsOf('localhost:1,127.0.0.1,[::1]:2/a'), false);
    assert.deepEqual(tlsOf('127.0.0.1,db1.example/a'), {});
    assert.deepEqual(tlsOf('localhost/a?sslmode=verify-full'), {});
  });

  it('is refused with the part that is wrong, and never with its password', () => {
    const wrong: [string, RegExp][] = [
      ['mysql://annals:secret@db/a', /^it must have the form postgres:\/\/ROLE/],
      ['postgres://annals:secret@db', /^it must have the form/],
      ['postgres://:secret@db/a', /^it names no role/],
      ['postgres://annals:secret@db/', /^it names no database/],
      ['postgres://annals:secret@/a', /^"" is not a host with its port/],
      ['postgres://annals:secret@db1,/a', /^"" is not a host with its port/],
      ['postgres://annals:secret@db:port/a', /^"db:port" is not a host/],
      ['postgres://annals:secret@db:70000/a', /^the port of "db:70000" must be from 1 to 65535$/],
      ['postgres://annals:secret%@db/a', /^its password has a % that begins no escape/],
      [
        'postgres://annals:secret@db/a?sslmod=disable',
        /parameter "sslmod"; known are "sslmode", "sslrootcert"; did you mean "sslmode"\?$/,
      ],
      ['postgres://annals:secret@db/a?sslmode=prefer', /^sslmode must be "verify-full", "disable", and is "prefer"$/],
      [
        'postgres://annals:secret@db/a?sslmode=disable&sslrootcert=ca.pem',
        /^sslrootcert has no meaning with sslmode=disable/,
      ],
      [
        'postgres://annals:secret@db/a?sslrootcert=missing/ca.pem',
        /^sslrootcert=missing\/ca\.pem is not a file with certificates in PEM \(ENOENT\)$/,
      ],
      [
        'postgres://annals:secret@db/a?sslrootcert=package.json',
        /^sslrootcert=package\.json is not a file with certificates in PEM \(ERR_OSSL_PEM_NO_START_LINE\)$/,
      ],
    ];
    for (const [text, message] of wrong) {
      assert.throws(
        () => readAddress(text),
        (error: Error) => error.name === 'AddressError' && message.test(error.message) && !/secret/.test(error.message),
        text,
      );
    }
  });
});
