import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import type { Seed } from '../../config/define.ts';
import { showProgress } from '../../server/platform/progress.ts';
import { readAtlas } from './data.ts';
import { readStories, type Story } from './stories.ts';

type Fields = Record<string, unknown>;
type Document = Fields & { id: string };
type Page = { docs: Document[]; nextPage: number | null };
type History = { document: { version: number } };
type Flag = ReturnType<typeof readAtlas>['flags'][number];
type Call = <Answer = unknown>(
  method: string,
  path: string,
  body?: Fields | FormData,
  reason?: string,
) => Promise<Answer>;

const concurrency = 16;
const pageSize = 100;

/**
 * Loads the atlas through the public HTTP API. Existing documents are found by their natural keys and not changed, so that
 * an interrupted load is finished by the next one. Only borders are corrected: they hold the ids of neighbours.
 *
 * @throws Error naming the request that failed and why.
 */
export const importAtlas: Seed = async ({ baseUrl, apiKey, siteId, progress }) => {
  const call = connect(baseUrl, apiKey, siteId);
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
  const flag = await add('flags', 'code', flags, formOf);
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
  await inParallel(bordering, async ({ code, borders }) => {
    const document = country(code);
    const wanted = borders.map((neighbour) => country(neighbour).id);
    if (!isDeepStrictEqual(document.borders, wanted)) {
      await call('PATCH', `/api/collections/countries/${document.id}`, { borders: wanted });
    }
    advance();
  });
  const { createdAt } = await call<Fields>('GET', '/api/globals/site');
  if (createdAt === null) await call('PATCH', '/api/globals/site', site);
  advance();
  // The last ones, so that they are the latest changes that the first editor sees.
  const stories = readStories({ country: (code) => country(code).id, flag: (code) => flag(code).id });
  await inParallel(stories.toReversed(), addStory);

  /**
   * Creates the rows whose `key` no document has; gives a function from a key to its document. The last row is created
   * first: lists show the newest first, and so in the order of the rows.
   */
  async function add<Row extends Fields>(
    slug: string,
    key: string,
    rows: readonly Row[],
    bodyOf: (row: Row) => Fields | Promise<FormData> = (row) => row,
  ): Promise<(value: string) => Document> {
    const path = `/api/collections/${slug}`;
    const documents = new Map((await readAll(call, path)).map((document) => [document[key], document]));
    await inParallel(rows.toReversed(), async (row) => {
      if (!documents.has(row[key])) documents.set(row[key], await call<Document>('POST', path, await bodyOf(row)));
      advance();
    });
    return (value) => documents.get(value) ?? refuse(`there is no ${value} in ${slug}`);
  }

  /** Writes a story version by version, each with its reason, from the first one on that the log does not have. */
  async function addStory({ slug, versions }: Story): Promise<void> {
    const path = '/api/collections/stories';
    const { docs }: Page = await call('GET', `${path}?where[slug][equals]=${slug}`);
    let [document] = docs;
    const log = document && (await call<History>('GET', `/api/audit/documents/stories/${document.id}`));
    for (const [index, { reason, data }] of versions.entries()) {
      if (document === undefined) document = await call<Document>('POST', path, data, reason);
      else if (index >= (log?.document.version ?? 0)) await call('PATCH', `${path}/${document.id}`, data, reason);
      advance();
    }
  }
};

function connect(baseUrl: string, apiKey: string, siteId: string | null): Call {
  return async (method, path, body, reason) => {
    const isForm = body instanceof FormData;
    const response = await fetch(baseUrl + path, {
      method,
      // The boundary of a form is for fetch to say.
      headers: {
        'x-api-key': apiKey,
        ...(siteId !== null && { 'x-site-id': siteId }),
        ...(!isForm && { 'content-type': 'application/json' }),
        ...(reason !== undefined && { 'x-change-reason': `UTF-8''${encodeURIComponent(reason)}` }),
      },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    }).catch((error) => refuse(`${method} ${path}: ${error.cause?.message ?? error.message}`));
    const answer = await response.json().catch(() => null);
    if (!response.ok || answer === null) {
      refuse(`${method} ${path}: ${response.status} ${answer?.message ?? 'an answer that is not JSON'}`);
    }
    return answer;
  };
}

/** A flag as the form to upload. The service itself detects the type of the file. */
async function formOf({ code, alt, path }: Flag): Promise<FormData> {
  const form = new FormData();
  form.set('code', code);
  form.set('alt', alt);
  form.set('file', new Blob([await readFile(path)]), basename(path));
  return form;
}

/** Sorted by id, pages do not shift while documents are added. */
async function readAll(call: Call, path: string): Promise<Document[]> {
  const all: Document[] = [];
  for (let page: number | null = 1; page !== null; ) {
    const { docs, nextPage }: Page = await call('GET', `${path}?sort=id&limit=${pageSize}&page=${page}`);
    all.push(...docs);
    page = nextPage;
  }
  return all;
}

/** Begins the work in the order of the items; after a failure no more of it is begun. */
async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  // The workers share it. One that throws ends it for all, which an array's own iterator would not do: hence the map.
  const queue = items.values().map((item) => item);
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
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
