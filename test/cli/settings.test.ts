import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readSettings } from '../../server/settings/command.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { temporaryFolder } from '../helpers/service.ts';

/** The refusals of a command line of `annals create-user`, line by line. */
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
  return readSettings(
    args,
    {},
    {
      settings: ['data'],
      flags: { email: 'string', field: 'list' },
      words: ['COLLECTION'],
    },
  );
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
      'unknown flag --filed; did you mean "--field"?; known: --help, --email, --field, --data, --site',
      'unexpected argument "a@b.co"',
    ]);
  });

  it('refuses them if none is asked for', () => {
    assert.throws(
      () => readSettings(['users'], {}, { settings: ['data'] }),
      /^UsageError: unexpected argument "users"$/,
    );
  });
});

describe('the settings of mail', () => {
  const read = (environment: NodeJS.ProcessEnv) => readSettings([], environment, { settings: [] }).settings;
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

describe('the settings of a bucket', () => {
  const read = (environment: NodeJS.ProcessEnv) => readSettings([], environment, { settings: [] }).settings.bucket;
  const whole = {
    ANNALS_S3_ENDPOINT: 'https://s3.example.org:9000',
    ANNALS_S3_BUCKET: 'annals-files',
    ANNALS_S3_ACCESS_KEY: 'access',
    ANNALS_S3_SECRET_KEY: 'secret',
  };

  it('are taken together, with defaults for the region and the style', () => {
    assert.equal(read({}), undefined);
    assert.deepEqual(read(whole), {
      endpoint: 'https://s3.example.org:9000',
      name: 'annals-files',
      region: 'us-east-1',
      accessKey: 'access',
      secretKey: 'secret',
      pathStyle: true,
    });
    const other = read({
      ...whole,
      ANNALS_S3_ENDPOINT: 'http://127.0.0.1:9000/',
      ANNALS_S3_REGION: 'eu-central-1',
      ANNALS_S3_PATH_STYLE: 'false',
    });
    assert.deepEqual(
      [other?.endpoint, other?.region, other?.pathStyle],
      ['http://127.0.0.1:9000', 'eu-central-1', false],
    );
  });

  it('are refused when one is missing that has no default', () => {
    assert.throws(
      () => read({ ANNALS_S3_BUCKET: 'annals-files', ANNALS_S3_SECRET_KEY: 'secret' }),
      (error: Error) => {
        assert.deepEqual(error.message.split('\n'), [
          'ANNALS_S3_ENDPOINT is missing: with ANNALS_S3_BUCKET uploads are kept in a bucket',
          'ANNALS_S3_ACCESS_KEY is missing: with ANNALS_S3_BUCKET uploads are kept in a bucket',
        ]);
        return true;
      },
    );
  });

  it('are refused when one is wrong, without showing what may hold a key', () => {
    for (const endpoint of [
      's3.example.org',
      'ftp://s3.example.org',
      'https://key:secret@s3.example.org',
      'https://s3.example.org/x',
      '',
    ]) {
      const wrong = { ...whole, ANNALS_S3_ENDPOINT: endpoint };
      assert.throws(
        () => read(wrong),
        /^UsageError: ANNALS_S3_ENDPOINT must be an http or https address without a path$/,
      );
    }
    for (const name of ['A', 'ab', 'Upper', 'a..b', '-ab', 'ab-', 'a/b', 'x'.repeat(64), '']) {
      assert.throws(() => read({ ...whole, ANNALS_S3_BUCKET: name }), /ANNALS_S3_BUCKET must be the name of a bucket/);
    }
    assert.throws(
      () => read({ ...whole, ANNALS_S3_PATH_STYLE: 'yes' }),
      /ANNALS_S3_PATH_STYLE must be true or false, got "yes"/,
    );
    assert.throws(() => read({ ...whole, ANNALS_S3_SECRET_KEY: ' ' }), /ANNALS_S3_SECRET_KEY is empty/);
    assert.throws(() => read({ ...whole, ANNALS_S3_BUKET: 'x' }), /did you mean "ANNALS_S3_BUCKET"/);
  });
});

describe('production', () => {
  it('is NODE_ENV=production and nothing else', () => {
    const isProduction = (value?: string) =>
      readSettings([], { NODE_ENV: value }, { settings: [] }).settings.isProduction;
    assert.equal(isProduction('production'), true);
    for (const other of [undefined, '', 'development', 'Production', '1']) assert.equal(isProduction(other), false);
  });
});

describe('how much of a core going through the log may take', () => {
  const read = (environment: Record<string, string>) =>
    readSettings([], environment, { settings: ['data'] }).settings.verifyPercent;

  it('is 3 percent, or what is said', () => {
    assert.equal(read({}), 3);
    assert.deepEqual(
      ['0', '25', '100'].map((percent) => read({ ANNALS_VERIFY_PERCENT: percent })),
      [0, 25, 100],
    );
  });

  it('is refused with what it must be', () => {
    for (const percent of ['101', '-1', '1.5', '3%', 'off']) {
      const message = `ANNALS_VERIFY_PERCENT must be a whole number from 0 (off) to 100, got "${percent}"`;
      assert.throws(() => read({ ANNALS_VERIFY_PERCENT: percent }), new UsageError(message));
    }
  });
});

describe('how long a connection is kept', () => {
  const read = (environment: Record<string, string>) =>
    readSettings([], environment, { settings: ['data'] }).settings.keepAliveSeconds;

  it('is 65 seconds, longer than balancers keep theirs, or what is said', () => {
    assert.deepEqual(
      [{}, { ANNALS_KEEP_ALIVE_SECONDS: '1' }, { ANNALS_KEEP_ALIVE_SECONDS: '3600' }].map(read),
      [65, 1, 3600],
    );
  });

  it('is refused with what it must be', () => {
    for (const seconds of ['0', '3601', '65s', '']) {
      const message = `ANNALS_KEEP_ALIVE_SECONDS must be a whole number of seconds from 1 to 3600, got "${seconds}"`;
      assert.throws(() => read({ ANNALS_KEEP_ALIVE_SECONDS: seconds }), new UsageError(message));
    }
  });
});
