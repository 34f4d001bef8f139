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
 * A service that restarts, or a machine that sleeps, is waited for: with the pauses between them these take about a
 * minute.
 */
const retries = 8;

/**
 * Loads the atlas through the public HTTP API. Existing documents are found by their natural keys and not changed, so
 * that an interrupted load is finished by the next one. Only borders are corrected: they hold the ids of neighbours. A
 * write whose answer does not come is sent again, under the same idempotency key.
 *
 * @throws Error naming the collection or global that it failed at, and why.
 */
export const importAtlas: Seed = async ({ baseUrl, apiKey, siteId, progress }) => {
  // The configuration is loaded by each thread, and the client only here.
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
    // The service itself detects the type of the file.
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
  // The last ones, so that they are the latest changes that the first editor sees.
  const stories = readStories({ country: (code) => country(code).id, flag: (code) => flag(code).id });
  await inParallel('stories', stories.toReversed(), addStory);

  /**
   * Creates the rows whose `key` no document has; gives a function from a key to its document. The last row is created
   * first: lists show the newest first, and so in the order of the rows.
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

  /** Writes a story version by version, each with its reason, from the first one on that the log does not have. */
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

/** Begins the work in the order of the items; after a failure no more of it is begun. @param what names it then. */
async function inParallel<Item>(
  what: string,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  // The workers share it. One that throws ends it for all, which an array's own iterator would not do: hence the map.
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

/** By hand: `npm run node -- examples/atlas/import.ts --url http://127.0.0.1:4000 --key KEY`. */
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
