import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { smtpUrlMust } from '../../config/check-email.ts';
import { createLog } from '../../server/platform/logging.ts';
import { siteOf } from '../../server/running/sites/find.ts';
import { createSite } from '../../server/running/sites/site.ts';
import { readSettings } from '../../server/settings/command.ts';
import { loadConfiguration } from '../../server/settings/configuration.ts';
import { type SiteSettings, UsageError } from '../../server/settings/settings.ts';
import { runHere } from '../helpers/in-process.ts';
import { temporaryFolder } from '../helpers/service.ts';

const serve = { settings: ['config', 'data', 'host', 'port', 'threads', 'strictSchema', 'sites'] } as const;

function write(t: TestContext, sites: unknown): string {
  const file = join(temporaryFolder(t), 'sites.json');
  writeFileSync(file, typeof sites === 'string' ? sites : JSON.stringify(sites));
  return file;
}

/** The error of the file, without its own name. */
function problemsOf(t: TestContext, sites: unknown, environment: Record<string, string> = {}): string[] {
  const file = write(t, sites);
  try {
    readSettings([], { ANNALS_SITES: file, ...environment }, serve);
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    return error.message.split('\n').map((line) => line.replace(`${file}: `, '').replace(file, 'FILE'));
  }
  return [];
}

describe('The file of sites', () => {
  it('gives each site settings of its own, with paths beside the file and the rest as for the process', (t) => {
    const file = write(t, [
      {
        id: 'acme',
        config: './acme.config.ts',
        data: './data/acme',
        apiKeys: ['key one', 'key two'],
        secrets: ['secret'],
        baseUrl: 'https://acme.example.org/',
        strictSchema: false,
        bucket: {
          endpoint: 'https://s3.example.org',
          name: 'acme',
          accessKey: 'a',
          secretKey: 's',
          pathStyle: false,
          checkpointDays: 30,
        },
      },
      { id: 'beta-2' },
    ]);
    const environment = { ANNALS_SITES: file, ANNALS_BASE_URL: 'https://all.example.org', ANNALS_LOG_LEVEL: 'warn' };
    const { settings } = readSettings(['--data', '/srv/annals', '--port', '0', '--strict-schema'], environment, serve);
    const [acme, beta] = settings.sites ?? assert.fail('no sites');
    assert.deepEqual([settings.port, settings.site, acme?.sites], [0, null, null]);
    assert.deepEqual([acme?.strictSchema, beta?.strictSchema], [false, true]);
    const folder = join(file, '..');
    assert.deepEqual(acme, {
      ...settings,
      site: 'acme',
      sites: null,
      config: join(folder, 'acme.config.ts'),
      data: join(folder, 'data/acme'),
      apiKeys: ['key one', 'key two'],
      secrets: ['secret'],
      baseUrl: 'https://acme.example.org',
      strictSchema: false,
      bucket: {
        endpoint: 'https://s3.example.org',
        name: 'acme',
        region: 'us-east-1',
        accessKey: 'a',
        secretKey: 's',
        pathStyle: false,
        checkpointDays: 30,
      },
    });
    assert.deepEqual(
      [beta?.site, beta?.data, beta?.config, beta?.apiKeys, beta?.baseUrl, beta?.logLevel],
      ['beta-2', '/srv/annals/beta-2', undefined, [], 'https://all.example.org', 'warn'],
    );
  });

  it('is refused with every problem and its place, and no secret is shown', (t) => {
    assert.deepEqual(
      problemsOf(t, [
        { id: 'Acme', apiKey: ['s3cret'], baseUrl: 'acme.example.org', apiKeys: 's3cret' },
        { apiKeys: ['s3cret', ' s3cret', 5], secrets: [], smtpUrl: 's3cret', webhook: 7, strictSchema: 'true' },
        's3cret',
        {
          id: 'x',
          baseUrl: 'https://ada:s3cret@example.org',
          bucket: { endpoint: 's3cret', secretKey: 's3cret', pathStyle: 'true', checkpointDays: 0, bukket: 1 },
        },
        { id: 'y', bucket: 's3cret', data: '', __proto__: 1 },
      ]),
      [
        '[0] has an unknown key "apiKey"; did you mean "apiKeys"?; known: id, config, data, baseUrl, apiKeys, secrets, strictSchema, acceptLoss, smtpUrl, mailFrom, webhook, webhookAllowPrivate, tsaUrl, tsaAllowPrivate, tsaCa, witnesses, witnessAllowPrivate, acceptClock, noBackup, bucket',
        '[0].id must be 1 to 63 lower-case letters, digits and "-", and not begin with "-", got "Acme"',
        '[0].baseUrl must be an http or https address such as https://cms.example.org, got acme.example.org',
        '[0].apiKeys must be a list of texts, got a text; if it is left out, one is generated',
        '[1].id is missing',
        '[1].apiKeys[1] must be a text without white space around it, got a text with white space around it',
        '[1].apiKeys[2] must be a text without white space around it, got a number',
        '[1].secrets must be a list of texts, got an empty one; if it is left out, one is generated',
        '[1].strictSchema must be a boolean, got a text',
        `[1].smtpUrl must ${smtpUrlMust}`,
        '[1].webhook must be a text, got a number',
        '[2] must be an object, got a text',
        '[3].baseUrl must not hold a name and password',
        '[3].bucket has an unknown key "bukket"; known: endpoint, name, region, accessKey, secretKey, pathStyle, checkpointDays, localRetentionBytes',
        '[3].bucket.endpoint must be an http or https address without a path',
        '[3].bucket.name is missing',
        '[3].bucket.accessKey is missing',
        '[3].bucket.pathStyle must be a boolean, got a text',
        '[3].bucket.checkpointDays must be a whole number of days from 1 to 36500, got "0"',
        '[4].data is empty',
        '[4].bucket must be an object, got a text',
      ],
    );
    assert.match(problemsOf(t, '[{ "id": "a", "__proto__": 1 }]')[0] ?? '', /^\[0\] has an unknown key "__proto__"/);
  });

  it('is refused if two sites would share what is for one', (t) => {
    const bucket = { endpoint: 'https://s3.example.org', name: 'files', accessKey: 'a', secretKey: 's3cret' };
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, 'real'));
    symlinkSync(join(folder, 'real'), join(folder, 'link'));
    assert.deepEqual(
      problemsOf(t, [
        { id: 'a', data: join(folder, 'real'), apiKeys: ['s3cret', 's3cret'], secrets: ['other'], bucket },
        { id: 'b', data: join(folder, 'link'), apiKeys: ['s3cret'], secrets: ['other'], bucket },
        { id: 'a', data: join(folder, 'link/inside/of') },
        { id: 'c', data: '/srv/x/c' },
        { id: 'd', data: '/srv/x' },
        { id: 'e', data: '/srv/xy' },
      ]),
      [
        '[0].apiKeys[1] is also a key of the site "a" ([0]), apiKeys[0]',
        '[1].apiKeys[0] is also a key of the site "a" ([0]), apiKeys[0]',
        '[1].secrets[0] is also a secret of the site "a" ([0]), secrets[0]',
        '[1].bucket is also the bucket of the site "a" ([0]), bucket',
        `[1].data: ${folder}/real is also the data directory of the site "a" ([0])`,
        '[2].id "a" is also the id of the site "a" ([0]), id',
        `[2].data: ${folder}/real/inside/of is inside of the data directory of the site "a" ([0])`,
        '[4].data: /srv/x has the data directory /srv/x/c inside of it, that of the site "c" ([3])',
      ],
    );
  });

  it('says if it is not JSON, without showing its content', (t) => {
    const broken: [text: string, problem: string][] = [
      ['', 'FILE is not JSON: it ends too early'],
      ['[{ "id": "a",\n "apiKeys": ["s3cret" "s3cret"] }]', 'FILE is not JSON: line 2, column 23'],
      ['[{ "id": "a",\n "apiKeys": ["s3cret", s3cret] }]', 'FILE is not JSON: line 2, column 24'],
      ['[{ "apiKeys": ["s3cret', 'FILE is not JSON: it ends too early'],
      ['[{ "id": "a", }]', 'FILE is not JSON: line 1, column 15'],
      ['{}', 'it must be a list of sites, [{ "id": "…", "config": "…" }], got an object'],
      ['[]', 'it must be a list of sites, [{ "id": "…", "config": "…" }], got an empty list'],
    ];
    for (const [text, problem] of broken) assert.deepEqual(problemsOf(t, text), [problem]);
    assert.throws(() => readSettings([], { ANNALS_SITES: '/no/such' }, serve), /there is no file \/no\/such$/);
    assert.throws(() => readSettings([], { ANNALS_SITES: ' ' }, serve), /ANNALS_SITES is empty/);
  });

  it('stands beside no key, secret or bucket of the process', (t) => {
    const environment = { ANNALS_API_KEY: 's3cret', ANNALS_SECRET: 's3cret', ANNALS_S3_BUCKET: 'files' };
    assert.deepEqual(problemsOf(t, [{ id: 'a' }], environment), [
      'ANNALS_API_KEY and ANNALS_SITES are both set: it belongs to a site, in the file of sites',
      'ANNALS_SECRET and ANNALS_SITES are both set: it belongs to a site, in the file of sites',
      'ANNALS_S3_BUCKET and ANNALS_SITES are both set: it belongs to a site, in the file of sites',
    ]);
  });

  it('gives a command the settings of the site that it names, and its own flags win', (t) => {
    const environment = {
      ANNALS_SITES: write(t, [{ id: 'acme', apiKeys: ['k'] }, { id: 'beta' }]),
      ANNALS_DATA: '/srv',
    };
    const read = (...args: string[]) => readSettings(args, environment, { settings: ['config', 'data'] }).settings;
    const { site, sites, data, apiKeys } = read('--site', 'acme');
    assert.deepEqual([site, sites, data, apiKeys], ['acme', null, '/srv/acme', ['k']]);
    assert.equal(read('--site', 'beta', '--data', 'copy').data, 'copy');
    assert.throws(() => read(), /^UsageError: --site is missing: ANNALS_SITES is set; known: "acme", "beta"$/);
    assert.throws(
      () => read('--site', 'acne'),
      /there is no site "acne"; did you mean "acme"\?; known: "acme", "beta"$/,
    );
    assert.throws(() => readSettings(['--site', 'acme'], {}, { settings: ['data'] }), /ANNALS_SITES, which is not set/);
    assert.throws(() => readSettings(['--site', 'acme'], environment, serve), /unknown flag --site/);
  });
});

const token = (claims: unknown) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
const bearer = (claims: unknown) => ({ authorization: `Bearer ${token(claims)}` });

describe('annals config check', () => {
  it('looks at the configuration of every site, or of the one that is named', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'right.json'), '{ "collections": [{ "slug": "posts", "fields": [] }] }');
    writeFileSync(join(folder, 'wrong.json'), '{ "collections": [{ "slug": "posts" }] }');
    const sites = [
      { id: 'acme', config: 'right.json' },
      { id: 'beta', config: 'wrong.json' },
      { id: 'gone', config: 'none.json' },
    ];
    writeFileSync(join(folder, 'sites.json'), JSON.stringify(sites));
    const environment = { ANNALS_SITES: join(folder, 'sites.json') };
    const all = await runHere(['config', 'check'], { environment });
    assert.deepEqual([all.code, all.stdout], [2, `acme: ${folder}/right.json is right: 1 collection, 0 globals\n`]);
    assert.match(all.stderr, /^beta: [\s\S]*posts\.fields: is missing\ngone: there is no configuration at /);
    assert.equal((await runHere(['config', 'check', '--site', 'acme'], { environment })).code, 0);
    const against = await runHere(['config', 'check', '--against', folder], { environment });
    assert.match(against.stderr, /^--against names the data of one site: --site says of which\n/);
    const site = ['--site', 'acme', '--against', folder];
    assert.match((await runHere(['config', 'check', ...site], { environment })).stderr, /^acme: there is no log in /);
    assert.match((await runHere(['config', 'check', '--site', 'x'], { environment })).stderr, /^there is no site "x"/);
    assert.match((await runHere(['verify', '--help'])).stdout, /ANNALS_SITES\), --site ID/);
  });
});

describe('The site of a request', () => {
  it('is that of x-site-id, whatever a token says, and none if a link says another', () => {
    const headers = { 'x-site-id': 'a', ...bearer({ site: 'b' }) };
    assert.equal(siteOf({ url: '/api/media/x/1/y?site=a', headers }), 'a');
    assert.equal(siteOf({ url: '/api/media/x/1/y?site=c', headers }), null);
    assert.equal(siteOf({ url: '/api/media/x/1/y?site=a&site=c', headers }), null);
    assert.equal(siteOf({ url: '/api/collections/x?site=c', headers }), 'a');
    assert.equal(siteOf({ url: '/', headers: { ...headers, 'x-site-id': '' } }), '');
    assert.equal(siteOf({ url: '/', headers: { ...headers, 'x-site-id': 'a, b' } }), 'a, b');
  });

  it('is that of a link, where links lead', () => {
    for (const url of [
      '/api/media/x/1/y?asOf=5&site=a',
      '/account/users/setup?token=t&site=a',
      '/api/docs?site=a',
      '/admin?site=a',
      '/admin/c/x?site=a',
    ])
      assert.equal(siteOf({ url, headers: {} }), 'a');
    for (const url of [
      '/api/collections/posts?site=a',
      '/api/docs/x?site=a',
      '/api/media?site=a',
      '/x/api/media/y?site=a',
      '/api/media/x/1/y?site=a&site=b',
      '/api/media/x/1/y?site[]=a',
      '',
    ])
      assert.equal(siteOf({ url, headers: {} }), null, url);
    assert.equal(siteOf({ url: '/api/media/x/1/y?site=&site=b', headers: bearer({ site: 'a' }) }), null);
    assert.equal(siteOf({ url: '/api/media/x/1/y', headers: bearer({ site: 'a' }) }), 'a');
  });

  it('is that of a token, and none if that says nothing that could be one', () => {
    assert.equal(siteOf({ url: '/api/schemas', headers: bearer({ site: 'a' }) }), 'a');
    assert.equal(siteOf({ url: `/api/preview-data?token=${token({ site: 'a' })}`, headers: {} }), 'a');
    assert.equal(siteOf({ url: `/api/schemas?token=${token({ site: 'a' })}`, headers: {} }), null);
    const twice = `/api/preview-data?token=${token({ site: 'a' })}&token=${token({ site: 'a' })}`;
    assert.equal(siteOf({ url: twice, headers: {} }), null);
    for (const claims of [{}, { site: 5 }, { site: ['a'] }, null, 'a', [], { site: null }])
      assert.equal(siteOf({ url: '/', headers: bearer(claims) }), null, JSON.stringify(claims));
    for (const authorization of [
      '',
      'Bearer',
      'Bearer x',
      'Bearer x.%%%.x',
      `Basic ${token({ site: 'a' })}`,
      `Bearer ${token({ site: 'a', x: 'x'.repeat(5000) })}`,
    ])
      assert.equal(siteOf({ url: '/', headers: { authorization } }), null, authorization.slice(0, 40));
  });
});

describe('A configuration that waits for what never comes', () => {
  it('is refused in the end, and keeps nothing from stopping', async (t) => {
    const config = join(temporaryFolder(t), 'stuck.config.mjs');
    writeFileSync(config, 'await new Promise(() => {});');
    const message = `${config} cannot be loaded: what it waits for did not come within 0.05 seconds`;
    await assert.rejects(loadConfiguration(config, 50), { name: 'UsageError', message });

    const { settings } = readSettings([], { ANNALS_SITES: write(t, [{ id: 'acme', config }]) }, serve);
    const log = createLog('silent', { write: () => {} });
    const options = { settings: settings.sites?.[0] as SiteSettings, log, tell: () => {}, onFailure: () => {} };
    const site = createSite(options);
    // The time that the module has is not over yet, and the test is not to wait for it.
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const started = site.start('http://127.0.0.1:1');
    await site.stop();
    await started;
    assert.equal(site.working(), null);
  });
});
