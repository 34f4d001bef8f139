import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readSettings, UsageError } from '../../server/settings.ts';
import { temporaryFolder } from '../helpers/service.ts';

/** What a command line of `annals create-user` is refused for, line by line. */
function problemsOf(...args: string[]): string[] {
  try {
    readUser(...args);
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    return error.message.split('\n');
  }
  return [];
}

function readUser(...args: string[]) {
  return readSettings(args, {}, ['data'], { email: 'string', field: 'list' }, ['COLLECTION']);
}

describe('a command with words of its own', () => {
  it('is given them, and a flag that may be repeated as a list', () => {
    const { words, flags, settings } = readUser(
      '--field',
      'name=Ada',
      'users',
      '--email=ada@example.org',
      '--field',
      'motto=--x=y',
      '--data',
      'here',
    );
    assert.deepEqual(words, ['users']);
    assert.equal(flags.email, 'ada@example.org');
    assert.deepEqual(flags.field, ['name=Ada', 'motto=--x=y']);
    assert.equal(settings.data, 'here');
    assert.equal(readUser('users').flags.field, undefined);
  });

  it('says which are missing, and which are too many', () => {
    assert.deepEqual(problemsOf(), ['COLLECTION is missing']);
    assert.deepEqual(problemsOf('users', 'ada'), ['unexpected argument "ada"']);
    assert.deepEqual(problemsOf('users', '--field', '--email', 'a@b.co', '--filed=x'), [
      '--field needs a value',
      'unknown flag --filed; did you mean "--field"?; known: --help, --email, --field, --data',
      'unexpected argument "a@b.co"',
    ]);
  });

  it('refuses them where none is asked for', () => {
    assert.throws(() => readSettings(['users'], {}, ['data']), /^UsageError: unexpected argument "users"$/);
  });
});

describe('the settings of mail', () => {
  const read = (environment: NodeJS.ProcessEnv) => readSettings([], environment, []).settings;
  const url = 'smtps://annals:p%2Fw@mail.example.org';

  it('come from the environment or a file, or are left to the configuration', (t) => {
    const file = join(temporaryFolder(t), 'url');
    writeFileSync(file, `${url}\n`);
    const { smtpUrl, mailFrom } = read({ ANNALS_SMTP_URL_FILE: file, ANNALS_MAIL_FROM: ' Annals <a@example.org> ' });
    assert.deepEqual([smtpUrl, mailFrom], [url, 'Annals <a@example.org>']);
    assert.deepEqual([read({}).smtpUrl, read({}).mailFrom], [undefined, undefined]);
  });

  it('are refused when they are empty', () => {
    assert.throws(() => read({ ANNALS_SMTP_URL: '' }), /ANNALS_SMTP_URL must be an SMTP URL/);
    assert.throws(() => read({ ANNALS_MAIL_FROM: '' }), /ANNALS_MAIL_FROM must be an e-mail address/);
  });
});

describe('production', () => {
  it('is NODE_ENV=production and nothing else', () => {
    const isProduction = (value?: string) => readSettings([], { NODE_ENV: value }, []).settings.isProduction;
    assert.equal(isProduction('production'), true);
    for (const other of [undefined, '', 'development', 'Production', '1']) assert.equal(isProduction(other), false);
  });
});
