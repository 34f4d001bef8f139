import { mkdirSync, statSync } from 'node:fs';
import { checkConfig } from '../config/check.ts';
import { documentStream } from '../events/facts/catalogue.ts';
import type { Command } from '../events/facts/log.ts';
import { createIds } from '../events/store/ids.ts';
import { openVault } from '../events/vault/vault.ts';
import { openDocuments, registerFunctions } from '../projections/query/documents.ts';
import type { Search } from '../projections/query/search.ts';
import type { Where } from '../projections/query/where.ts';
import { boot } from '../projections/start/boot.ts';
import { openSearchFile } from '../projections/tables/search-file.ts';
import { searchFileOf, searchTablesOf } from '../projections/tables/search-tables.ts';
import { readTerms } from '../projections/tables/words.ts';
import { openSearchReader } from '../server/queries/search-index.ts';
import { perform } from '../server/reads/reads.ts';
import { announceFile, createSearchCell, publish } from '../server/writer/search-cell.ts';
import { openDatabase } from '../storage/sqlite.ts';
import { category } from '../test/helpers/category.ts';
import { median } from './report.ts';

/** The number of documents that contain each word, at every size. */
const hits = 20;
const rounds = 200;
const common = ['some', 'common', 'words', 'and'];

process.env.BENCH_SEARCHED = 'true';
const [directory = '', given = '0'] = process.argv.slice(2);
const size = Number(given);
const { default: config } = await import('./search.config.ts');
const { schema, rules } = checkConfig(config);
mkdirSync(directory, { recursive: true });
const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now);
const vault = openVault(`${directory}/vault.db`);
const { log, projector, readFile } = boot({
  directory,
  schema,
  rules,
  ids,
  now: Date.now,
  logId: `annals/${ids.next().id}`,
  seals: vault.seals(),
});

/** The word of a document: letters that no other word has in this order. */
function wordOf(index: number): string {
  const number = index % (size / hits);
  return `w${(number * 7919 + 1_000_003).toString(36)}q`;
}

for (let made = 0; made < size; made += 1000) {
  const commands = Array.from({ length: 1000 }, (_, offset): Command => {
    const { id, at } = ids.next();
    const time = new Date(at).toISOString();
    const name = `${common.join(' ')} ${wordOf(made + offset)}`;
    return {
      stream: documentStream(category('names'), id),
      expectedVersion: 0,
      events: [{ type: 'document.created', data: { id, createdAt: time, updatedAt: time, name } }],
      claims: [],
      releases: [],
      actor: { type: 'system' },
      correlationId: id,
      context: {},
    };
  });
  const { recorded } = log.append(commands);
  projector.apply(recorded, log.head().root);
}

const searchFile = searchFileOf(readFile, schema) ?? '';
const began = performance.now();
const file = openSearchFile({ readFile, searchFile, schema });
for (const _ of file.fold.build());
const cell = createSearchCell();
announceFile(cell);
publish(cell, file.fold.step().position);
const built = (performance.now() - began) / 1000;
file.close();

const read = openDatabase(readFile, { readonly: true, cacheMiB: 64 });
registerFunctions(read);
const index = openSearchReader(read, schema, { file: searchFile, cell });
await index.ready();
const described = searchTablesOf(schema).find(({ tables }) => tables.key === 'names');
if (!described?.words) throw new Error('names have no index');
const { tables, words } = described;
const documents = openDocuments(read, tables);

async function timeOf(whereOf: (word: string) => Promise<Where | null> | Where, count = rounds): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const word = wordOf(Math.floor((turn * size) / count) + turn);
    const where = await whereOf(word);
    const started = performance.now();
    const { total } = documents.list({ where, sort: [], limit: 10, page: 1 });
    times.push(performance.now() - started);
    if (total !== hits) throw new Error(`${word} is in ${total} documents`);
  }
  return median(times);
}

const like = (word: string): Where => {
  return { steps: [], leaf: { name: 'name', kind: 'text' }, operator: 'like', values: [word] };
};
const terms = (word: string): { search: Search } => {
  return { search: { terms: readTerms(word), fields: words.fields, index: index.wordsOf(tables, words.fields) } };
};
/** The time to find the best ten matches of a word that all documents contain. */
async function timeOfBest(): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < 20; turn += 1) {
    const where = terms(`"${common[turn % common.length]}"`);
    const asked = { terms: where.search.terms, fields: where.search.fields };
    const request = { where, sort: [], limit: 10, page: 1, words: asked };
    const started = performance.now();
    const { total } = await perform({ kind: 'ranked', request }, documents);
    times.push(performance.now() - started);
    if (total !== size) throw new Error(`a word of all documents is in ${total}`);
  }
  return median(times);
}

const times = {
  served: await timeOf((word) => index.served(like(word), tables)),
  scanned: await timeOf(like, 5),
  words: await timeOf(terms),
  best: await timeOfBest(),
  built,
  megabytes: statSync(searchFile).size / 1e6,
};
process.stdout.write(JSON.stringify(times));
read.close();
vault.close();
process.exit(0);
