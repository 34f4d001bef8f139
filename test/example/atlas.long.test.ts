import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { richTextToText } from '../../client/index.ts';
import { importAtlas } from '../../examples/atlas/import.ts';
import { useMailbox } from '../helpers/mail.ts';
import { openTcpProxy } from '../helpers/proxies.ts';
import { apiKey, runCommand, type Service, startService, writeConfig } from '../helpers/service.ts';
import { recordedEvents, useFolder, useService } from '../helpers/shared.ts';
import { describeDocumentation } from './documentation.ts';
import { describeGeneratedClients } from './generated-clients.ts';

const example = new URL('../../examples/atlas/annals.config.ts', import.meta.url).href;
const atlas = JSON.stringify(example);
/**
 * The atlas as it is, but for passwords that are hashed with less work: each example of the documentation waits for its
 * own.
 */
const config = `import atlas from ${atlas}; export { seed } from ${atlas}; export default { ...atlas, bcryptCost: 4 };`;
const mailbox = await useMailbox();
const counts = { countries: 250, regions: 6, subregions: 24, languages: 153, currencies: 162, flags: 250, stories: 5 };
const documents = Object.values(counts).reduce((sum, count) => sum + count);
const bordering = 165;
/** Changes of stories after they were created. */
const rewritten = 10;
/** Stories that everybody may read. */
const published = 4;

type Document = Record<string, unknown> & { id: string };
type Country = Document & { code: string; borders: string[] };

describe('the first load over a network that breaks', () => {
  it('sends again what was broken off, and records each document once', async (t) => {
    const service = await startService(t, config.replace('export { seed }', 'export { seed as later }'));
    const { hostname, port } = new URL(service.url);
    const proxy = await openTcpProxy({ host: hostname, port: Number(port) });
    t.after(proxy.close);
    let cuts = 0;
    await importAtlas({
      baseUrl: proxy.url,
      apiKey,
      siteId: null,
      progress(done) {
        if (done % 60 !== 0) return;
        cuts += 1;
        proxy.cut();
      },
    });
    assert.ok(cuts > 10, `${cuts} cuts`);
    assert.equal(countOf(service.data, 'document.created'), documents);
    assert.equal(countOf(service.data, 'document.updated'), bordering + rewritten);
    assertBorders(await readAll(service, 'countries'));
  });
});

describe('the example, whose first load was killed twice', () => {
  const folder = useFolder();
  const data = join(folder, 'data');
  const created: number[] = [];

  before(async () => {
    // Half-way it uploads flags, at nine tenths it patches borders; stories come last.
    for (const share of [0.5, 0.9]) {
      const file = writeConfig(folder, killedAt(share));
      const { code, stdout } = await runCommand(['serve', '--config', file, '--data', data, '--port', '0']);
      assert.deepEqual([code, stdout], [null, '']);
      created.push(countOf(data, 'document.created'));
    }
  });

  const environment = {
    ANNALS_SMTP_URL: mailbox.url,
    ANNALS_MAIL_FROM: 'Atlas <atlas@example.org>',
    ANNALS_THREADS: '1',
  };
  const service = useService(config, environment, data);

  it('is whole, without duplicates', async () => {
    const [half = 0, all] = created;
    assert.ok(half > documents - 500 && half < documents - 250, String(half));
    assert.equal(all, documents - counts.stories);
    for (const [slug, count] of Object.entries(counts))
      assert.equal((await readAll(service, slug)).length, count, slug);
    assertBorders(await readAll(service, 'countries'));
    assert.equal(countOf(data, 'document.created'), documents);
    assert.equal(countOf(data, 'document.updated'), bordering + rewritten);
    assert.equal(countOf(data, 'global.updated'), 1);
  });

  it('holds every document of the data set, readable without a key, but for the story that is a draft', async () => {
    for (const [slug, count] of Object.entries({ ...counts, stories: published })) {
      const { status, body } = await service.call('GET', `/api/collections/${slug}?limit=1`, undefined, { key: null });
      assert.deepEqual([slug, status, body.total], [slug, 200, count]);
    }
  });

  it('describes France as the data set does', async () => {
    const { id, createdAt, updatedAt, region, subregion, languages, currencies, borders, flag, ...fields } =
      await country(service, 'FRA');
    assert.deepEqual(fields, {
      name: 'France',
      officialName: 'French Republic',
      code: 'FRA',
      alpha2: 'FR',
      numeric: '250',
      emoji: '🇫🇷',
      status: 'officially-assigned',
      independent: true,
      unMember: true,
      unGroup: 'Western European and Others Group',
      landlocked: false,
      area: 551695,
      location: { latitude: 46, longitude: 2 },
      capitals: [{ name: 'Paris' }],
      nativeNames: [{ language: 'fra', common: 'France', official: 'République française' }],
      demonyms: { english: 'French', frenchFeminine: 'Française', frenchMasculine: 'Français' },
      dialling: { root: '+3', suffixes: ['3'] },
      domains: ['.fr'],
    });
  });

  it('leaves empty what the data set does not know', async () => {
    const { independent, numeric } = await country(service, 'UNK');
    assert.deepEqual({ independent, numeric }, { independent: null, numeric: null });
    const { subregion, languages, capitals, dialling } = await country(service, 'ATA');
    assert.deepEqual([subregion, languages, capitals, dialling], [null, [], [], null]);
    assert.equal((await country(service, 'SJM')).area, null);
  });

  it('relates countries to regions, languages and currencies, and these to countries', async () => {
    const france = await country(service, 'FRA');
    const europe = await find(service, 'regions', 'name', 'Europe');
    const west = await find(service, 'subregions', 'name', 'Western Europe');
    const french = await find(service, 'languages', 'code', 'fra');
    const euro = await find(service, 'currencies', 'code', 'EUR');
    assert.deepEqual(
      [france.region, france.subregion, france.languages, france.currencies],
      [europe.id, west.id, [french.id], [euro.id]],
    );
    assert.equal(west.region, europe.id);
    assert.deepEqual([french.name, euro.name, euro.symbol], ['French', 'Euro', '€']);
    for (const { countries } of [europe, west, french, euro]) assert.ok((countries as string[]).includes(france.id));
    assert.deepEqual(
      [europe, west, french, euro].map(({ countries }) => (countries as string[]).length),
      [53, 8, 46, 37],
    );
    assert.ok((europe.subregions as string[]).includes(west.id));
  });

  it('relates neighbours both ways', async () => {
    assertBorders(await readAll(service, 'countries'));
  });

  it('shows the flag of every country, each in its own file', async () => {
    const countries = await readAll(service, 'countries', 'depth=1');
    const flags = countries.map(({ code, flag }) => ({ code: String(code), flag: flag as Document }));
    for (const { code, flag } of flags) {
      assert.deepEqual([flag.filename, flag.mimeType], [`${code.toLowerCase()}.svg`, 'image/svg+xml']);
    }
    // Mexico's is the largest.
    for (const code of ['FRA', 'MEX']) {
      const flag = flags.find((one) => one.code === code)?.flag as Document;
      const source = readFileSync(fileURLToPath(import.meta.resolve(`world-countries/data/${flag.filename}`)));
      const response = await fetch(service.url + flag.url);
      assert.equal(response.status, 200);
      assert.ok(source.equals(Buffer.from(await response.arrayBuffer())), code);
      assert.equal(flag.filesize, source.length);
    }
  });

  it('answers 20 countries with the name of a relation in 5 kB, by select', async () => {
    const sizeOf = async (query: string) => {
      const response = await fetch(`${service.url}/api/collections/countries?limit=20&${query}`);
      assert.equal(response.status, 200);
      return (await response.text()).length;
    };
    assert.ok((await sizeOf('depth=1')) > 100_000);
    assert.ok((await sizeOf('select=name,region.name')) <= 5000);
  });

  it('tells stories whose history has something to show: versions, each with a reason', async () => {
    for (const { id, slug, text, countries, cover } of await readAll(service, 'stories', 'depth=1')) {
      const { body } = await service.call('GET', `/api/audit/documents/stories/${id}`);
      const reasons = body.docs.map(({ reason }: Document) => reason);
      assert.ok(reasons.length >= 2 && reasons.every((reason: unknown) => typeof reason === 'string'), String(slug));
      assert.equal(reasons[0], 'First draft');
      assert.ok(richTextToText(text).length > 50, String(slug));
      assert.ok((countries as Document[]).length > 0 && (cover as Document).filename, String(slug));
    }
    const found = await service.call('GET', '/api/search?q=lozier&collections=stories');
    assert.deepEqual(
      found.body.docs.map(({ title }: Document) => title),
      ['An island without people'],
    );
  });

  it('says where the data comes from, in a global', async () => {
    const { status, body } = await service.call('GET', '/api/globals/site', undefined, { key: null });
    assert.equal(status, 200);
    assert.equal(body.title, 'Atlas');
    assert.equal(body.source.url, 'https://github.com/mledoze/countries');
    assert.match(body.source.attribution, /Open Database License/);
  });

  // After the tests that count the documents, because these add some.
  describeGeneratedClients(service);

  describe('and the examples in the documentation', () => describeDocumentation(service, mailbox));

  it('is imported by hand without touching what is there, and with borders put right', async () => {
    const germany = await country(service, 'DEU');
    await service.call('DELETE', `/api/collections/countries/${germany.id}`);
    await service.call('PATCH', '/api/globals/site', { title: 'My atlas' });
    const before = recordedEvents(service.data).length;

    assert.equal((await importByHand('--url', service.url, '--key', apiKey)).code, 0);
    assertBorders(await readAll(service, 'countries'));
    // Germany, its own borders, and those of its nine neighbours.
    assert.equal(recordedEvents(service.data).length - before, 11);
    assert.equal((await service.call('GET', '/api/globals/site')).body.title, 'My atlas');
  });

  it('says what an import by hand failed at, and why', async () => {
    assert.deepEqual(await importByHand('--url', service.url, '--key', 'wrong'), {
      code: 1,
      stderr: 'regions: the API key is not valid\n',
    });
  });

  // The last test, because it ends the service.
  it('does not bring back a deleted document at the next start', async (t) => {
    const { id } = await country(service, 'ATA');
    assert.equal((await service.call('DELETE', `/api/collections/countries/${id}`)).status, 200);
    assert.equal(await service.stop(), 0);

    const again = await startService(t, config, { data: service.data });
    assert.equal((await readAll(again, 'countries')).length, counts.countries - 1);
  });
});

/** The example, but the process is killed as soon as this share of the work is done. */
function killedAt(share: number): string {
  return `
    import { seed as load } from ${atlas};
    export { default } from ${atlas};
    export const seed = (api) => load({ ...api, progress: (done, total) => {
      if (done > total * ${share}) process.kill(process.pid, 'SIGKILL');
    } });
  `;
}

function countOf(data: string, type: string): number {
  return recordedEvents(data).filter((event) => event.type === type).length;
}

async function readAll(service: Service, slug: string, query = ''): Promise<Document[]> {
  const all: Document[] = [];
  for (let page: number | null = 1; page !== null; ) {
    const { body } = await service.call('GET', `/api/collections/${slug}?sort=id&limit=100&page=${page}&${query}`);
    all.push(...body.docs);
    page = body.nextPage;
  }
  return all;
}

async function find(service: Service, slug: string, field: string, value: string): Promise<Document> {
  const found = (await readAll(service, slug)).filter((document) => document[field] === value);
  assert.equal(found.length, 1, `${value} in ${slug}`);
  return found[0] as Document;
}

function country(service: Service, code: string): Promise<Document> {
  return find(service, 'countries', 'code', code);
}

function assertBorders(documents: readonly Document[]): void {
  const countries = documents as Country[];
  const codes = new Map(countries.map(({ id, code }) => [id, code]));
  const neighbours = new Map(countries.map(({ code, borders }) => [code, borders.map((id) => codes.get(id))]));
  assert.deepEqual(neighbours.get('FRA'), ['AND', 'BEL', 'DEU', 'ITA', 'LUX', 'MCO', 'ESP', 'CHE']);
  assert.ok(neighbours.get('DEU')?.includes('FRA'));
  assert.equal([...neighbours.values()].filter(({ length }) => length > 0).length, bordering);
  const pairs = [...neighbours].flatMap(([code, others]) => others.map((other) => [code, other] as const));
  // In the data set Sri Lanka has a border with India, but not the other way round.
  assert.deepEqual(
    pairs.filter(([code, other]) => !neighbours.get(other ?? '')?.includes(code)),
    [['LKA', 'IND']],
  );
}

function importByHand(...args: string[]): Promise<{ code: number; stderr: string }> {
  const file = fileURLToPath(new URL('import.ts', example));
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], (error, _stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stderr });
    });
  });
}
