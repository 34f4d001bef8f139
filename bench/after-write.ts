import { checkConfig } from '../config/check.ts';
import { decideUpdate } from '../events/facts/documents.ts';
import { createIds } from '../events/store/ids.ts';
import { openVault } from '../events/vault/vault.ts';
import { openDocuments, registerFunctions } from '../projections/query/documents.ts';
import { boot } from '../projections/start/boot.ts';
import { type Tables, tablesOf } from '../projections/tables/tables.ts';
import { readSort, type SearchReach } from '../server/queries/paths.ts';
import { readWhereObject } from '../server/queries/where.ts';
import { openDatabase } from '../storage/sqlite.ts';
import { category } from '../test/helpers/category.ts';
import { median } from './report.ts';

/**
 * Times in milliseconds: of the first list of its kind, of a list with a known total, and of a list after each write.
 */
export type AfterWrite = { first: number; known: number; written: number };

const lists = {
  R2: { where: null, sort: '-createdAt' },
  R3: { where: { status: { equals: 'published' }, views: { greater_than: 5000 } }, sort: '-publishedAt' },
  R4: { where: { title: { like: 'barenb' } }, sort: '-createdAt' },
  R5: { where: { or: [{ status: { equals: 'draft' } }, { views: { greater_than: 9000 } }] }, sort: '-createdAt' },
};

const [directory = '', config = 'annals'] = process.argv.slice(2);
const { default: author } = await import(`./${config}.config.ts`);
const model = checkConfig(author);
const { schema, rules, collections } = model;
const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now);
const vault = openVault(`${directory}/vault.db`);
const logId = `annals/${ids.next().id}`;
const { log, projector, readFile } = boot({
  directory,
  schema,
  rules,
  ids,
  now: Date.now,
  logId,
  seals: vault.seals(),
});
const db = openDatabase(readFile, { readonly: true, cacheMiB: 64 });
registerFunctions(db);
const tablesAt = (slug: string) => tablesOf(schema).find(({ key }) => key === slug) as Tables;
const documents = openDocuments(db, tablesAt('posts'));
const reach = (slug: string): SearchReach => ({
  tables: tablesAt(slug),
  fields: collections.get(slug)?.fields ?? [],
  related: async (other) => ({ reach: reach(other), filter: null }),
});
const written = db.prepare('SELECT id FROM "documents posts" ORDER BY key LIMIT 2000').pluck().all() as string[];
let writes = 0;

/** Changes the views of a document. */
function write(): void {
  writes += 1;
  const id = written[(writes * 37) % written.length] ?? '';
  const current = documents.current(id);
  if (!current) throw new Error(`there is no ${id}`);
  const values = { views: (Number(current.document.views) + 1234) % 10_000 };
  const decided = decideUpdate({ category: category('posts'), unique: [] }, id, { current, values, at: ids.next().at });
  if (!decided) throw new Error('nothing changes');
  const command = { ...decided, actor: { type: 'system' as const }, correlationId: id, context: {} };
  projector.apply(log.append([command]).recorded, log.head().root);
}

const result: Record<string, AfterWrite> = {};
for (const [name, { where: object, sort }] of Object.entries(lists)) {
  const where = object && (await readWhereObject(object, reach('posts')));
  const { keys } = await readSort(sort, reach('posts'));
  const timeOf = () => {
    const started = performance.now();
    documents.list({ where, sort: keys, limit: 10, page: 1 });
    return performance.now() - started;
  };
  const first = timeOf();
  const known = median(Array.from({ length: 100 }, timeOf));
  const times: number[] = [];
  const began = performance.now();
  while (times.length < 200 && performance.now() - began < 10_000) {
    write();
    times.push(timeOf());
  }
  result[name] = { first, known, written: median(times) };
}
process.stdout.write(JSON.stringify(result));
process.exit(0);
