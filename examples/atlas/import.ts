import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import type { Seed } from '../../config/define.ts';
import { showProgress } from '../../server/platform/progress.ts';
import { readAtlas } from './data.ts';
import { readStories, type Story } from './stories.ts';

type Fields = Record<string, unknown>;
type Document = Fields & { id: string };
type Flag = ReturnType<typeof readAtlas>['flags'][number];

const concurrency = 16;
/**
 * The number of retries of a call, so that the import waits for a service that restarts or a machine that sleeps: with
 * the pauses in between they take about a minute.
 */
const retries = 8;

/**
 * Loads the atlas through the public HTTP API. Existing documents are found by their natural keys and stay unchanged,
 * so that the next load completes an interrupted one. Only borders, which hold the ids of neighbours, are corrected. A
 * write without an answer is sent again, under the same idempotency key.
 *
 * @throws Error that names the collection or global at which the load failed, and the reason.
 */
export const importAtlas: Seed = async ({ baseUrl, apiKey, siteId, progress }) => {
  // Each thread loads the configuration, so the client is loaded only here.
  const { createClient } = await import('../../client/index.ts');
  const cms = createClient({ baseUrl, apiKey, siteId: siteId ?? undefined, retries, timeout: 0 });
  const { regions, subregions, languages, currencies, flags, countries, site } = readAtlas();
  const bordering = countries.filter(({ borders }) => borders.length > 0);
  const storyVersions = readStories({ country: String, flag: String }).flatMap(({ versions }) => versions);
  const total = [regions, subregions, languages, currencies, flags, countries, bordering, site, storyVersions].flat()
    .length;
  let done = 0;
  const advance = () => progress(++done, total);

  const region = await add('regions', 'name', regions);
  const subregion = await add(
    'subregions',
    'name',
    subregions.map((row) => ({ ...row, region: region(row.region).id })),
  );
  const language = await add('languages', 'code', languages);
  const currency = await add('currencies', 'code', currencies);
  const flag = await add('flags', 'code', flags, async ({ code, alt, path }: Flag) => {
    const file = new Blob([await readFile(path)]);
    // The service detects the type of the file.
    return cms.collection('flags').upload(file, { code, alt }, { filename: basename(path) });
  });
  const country = await add(
    'countries',
    'code',
    countries.map((row) => ({
      ...row,
      region: region(row.region).id,
      subregion: row.subregion && subregion(row.subregion).id,
      languages: row.languages.map((code) => language(code).id),
      currencies: row.currencies.map((code) => currency(code).id),
      flag: flag(row.code).id,
      // Not every neighbour has an id yet.
      borders: [],
    })),
  );
  await inParallel('countries', bordering, async ({ code, borders }) => {
    const document = country(code);
    const wanted = borders.map((neighbour) => country(neighbour).id);
    if (!isDeepStrictEqual(document.borders, wanted)) {
      await cms.collection('countries').update(document.id, { borders: wanted });
    }
    advance();
  });
  await inParallel('site', [site], async (data) => {
    const { createdAt } = await cms.global('site').get();
    if (createdAt === null) await cms.global('site').update(data);
    advance();
  });
  // Stories come last, so that the first editor sees them as the latest changes.
  const stories = readStories({ country: (code) => country(code).id, flag: (code) => flag(code).id });
  await inParallel('stories', stories.toReversed(), addStory);

  /**
   * Creates the rows whose `key` no document has; returns a function from a key to its document. The last row is
   * created first, so that lists, which show the newest first, have the order of the rows.
   */
  async function add<Row extends Fields>(
    slug: string,
    key: string,
    rows: readonly Row[],
    create: (row: Row) => Promise<Document> = (row) => cms.collection(slug).create(row),
  ): Promise<(value: string) => Document> {
    const documents = new Map<unknown, Document>();
    await inParallel(slug, [key], async () => {
      for await (const document of cms.collection(slug).findAll()) documents.set(document[key], document);
    });
    await inParallel(slug, rows.toReversed(), async (row) => {
      if (!documents.has(row[key])) documents.set(row[key], await create(row));
      advance();
    });
    return (value) => documents.get(value) ?? refuse(`there is no ${value} in ${slug}`);
  }

  /**
   * Writes a story version by version, each with its reason, beginning with the first version that the log does not
   * have.
   */
  async function addStory({ slug, versions }: Story): Promise<void> {
    const collection = cms.collection('stories');
    let document = await collection.findOne({ where: { slug: { equals: slug } } });
    const recorded = document === null ? 0 : (await collection.history(document.id)).document.version;
    for (const [index, { reason, data }] of versions.entries()) {
      if (document === null) document = await collection.create(data, { reason });
      else if (index >= recorded) await collection.update(document.id, data, { reason });
      advance();
    }
  }
};

/**
 * Starts the work on the items in order. After a failure no more work is started. @param what names the work in the
 * error.
 */
async function inParallel<Item>(
  what: string,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  // The workers share this iterator. If a worker throws, it ends for all of them; the iterator of an array itself would
  // not end, hence the map.
  const queue = items.values().map((item) => item);
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  const workers = Array.from({ length: concurrency }, worker);
  await Promise.all(workers).catch((error: Error) => refuse(`${what}: ${error.message}`));
}

function refuse(message: string): never {
  throw new Error(message);
}

/** To run by hand: `npm run node -- examples/atlas/import.ts --url http://127.0.0.1:4000 --key KEY`. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      url: { type: 'string', default: 'http://127.0.0.1:4000' },
      key: { type: 'string' },
      site: { type: 'string' },
    },
  });
  const { key = refuse('--key KEY is needed: the API key that the service prints when it starts') } = values;
  const baseUrl = values.url.replace(/\/+$/, '');
  await importAtlas({ baseUrl, apiKey: key, siteId: values.site ?? null, progress: showProgress('loading the atlas') });
}

if (import.meta.main) {
  await main().catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
