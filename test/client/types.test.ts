import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { clientTypes } from '../../cli/client-types/file.ts';
import { type DocumentPath, pathKindsOf, pathsOf } from '../../cli/client-types/paths.ts';
import type {
  IdFilter,
  ListFilter,
  OrderFilter,
  PresenceFilter,
  TextFilter,
  ValueFilter,
} from '../../client/types/paths.ts';
import { checkConfig } from '../../config/check.ts';
import type { Collection } from '../../config/model.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { type Answer, apiKey } from '../helpers/service.ts';
import { useFolder } from '../helpers/shared.ts';
import config from './rich.config.ts';
import { answers, inputs, nothing, refused, site } from './samples.ts';

const configFile = fileURLToPath(new URL('rich.config.ts', import.meta.url));
const typesFile = fileURLToPath(new URL('rich.types.ts', import.meta.url));
const folder = useFolder();
const model = checkConfig(config);
const pathsBySlug = new Map([...model.collections.values()].map((one) => [one.slug, pathsOf(one, ({ name }) => name)]));

describe('The types of the client', () => {
  const service = useServiceHere(`export { default } from ${JSON.stringify(pathToFileURL(configFile).href)};`);
  const ids = new Map<string, string>();

  /** A value with ids in the place of their names. */
  function withIds(value: unknown): unknown {
    return JSON.parse(JSON.stringify(value), (_, one) => ids.get(one) ?? one);
  }

  /** An answer as the samples have it. */
  function sampled({ status, body }: Answer): unknown {
    assert.ok(status < 300, JSON.stringify(body));
    let text = JSON.stringify(body);
    for (const [name, id] of ids) text = text.replaceAll(id, name);
    return JSON.parse(text, (key, value) => (/^(created|updated)At$/.test(key) && value !== null ? 'now' : value));
  }

  async function create(slug: string, name: keyof typeof inputs): Promise<void> {
    const { status, body } = await service.call('POST', `/api/collections/${slug}`, withIds(inputs[name]));
    assert.equal(status, 201, JSON.stringify(body));
    ids.set(name, body.id);
  }

  async function upload(): Promise<void> {
    const form = new FormData();
    for (const [name, value] of Object.entries(withIds(inputs.cover) as Record<string, string>)) form.set(name, value);
    form.set('file', new Blob(['a']), 'a.txt');
    const options = { method: 'POST', headers: { 'x-api-key': apiKey }, body: form };
    const response = await fetch(`${service.url}/api/collections/pictures`, options);
    ids.set('cover', ((await response.json()) as { id: string }).id);
  }

  before(async () => {
    for (const name of ['ada', 'grace', 'gone'] as const) await create('authors', name);
    await create('members', 'member');
    await upload();
    for (const name of ['plain', 'full'] as const) await create('posts', name);
    await service.call('DELETE', `/api/collections/authors/${ids.get('gone')}`);
  });

  const read = (slug: string, name: string, query = '', key: string | null = apiKey) =>
    service.call('GET', `/api/collections/${slug}/${ids.get(name)}${query}`, undefined, { key });

  it('are what a service answers', async () => {
    assert.deepEqual(sampled(await read('posts', 'plain')), answers.plain);
    assert.deepEqual(sampled(await read('posts', 'plain', '', null)), answers.anonymous);
    assert.deepEqual(sampled(await read('posts', 'full', '?depth=2')), answers.full);
    assert.deepEqual(sampled(await read('pictures', 'cover')), answers.cover);
    assert.deepEqual(sampled(await read('members', 'member')), answers.member);
  });

  it('are what a service answers of a global before and after it is written', async () => {
    assert.deepEqual(sampled(await service.call('GET', '/api/globals/site')), site.before);
    await service.call('PATCH', '/api/globals/site', withIds(site.change));
    assert.deepEqual(sampled(await service.call('GET', '/api/globals/site?depth=1')), site.after);
  });

  it('refuse what a service refuses', async () => {
    for (const { slug, input } of refused) {
      const { status } = await service.call('POST', `/api/collections/${slug}`, withIds(input));
      assert.equal(status, 400, JSON.stringify(input));
    }
  });

  it('let null be written, and a document that was read be sent back', async () => {
    const copy = (await service.call('POST', '/api/collections/posts', withIds(inputs.plain))).body;
    const { status } = await service.call('PATCH', `/api/collections/posts/${copy.id}`, nothing);
    assert.equal(status, 200);
    for (const slug of ['posts', 'authors', 'pictures', 'members']) {
      const { docs } = (await service.call('GET', `/api/collections/${slug}`)).body;
      const { status, body } = await service.call('PATCH', `/api/collections/${slug}/${docs.at(-1).id}`, docs.at(-1));
      assert.equal(status, 200, JSON.stringify(body));
    }
  });

  it('know every filter that a service takes, and no other', async () => {
    for (const [slug, paths] of pathsBySlug) {
      const filters = paths.flatMap(({ path, filter }) => allOperators.map((operator) => ({ path, filter, operator })));
      const known = filters.filter(({ filter, operator }) => operatorsOf(filter).includes(operator));
      const others = filters.filter((one) => !known.includes(one));
      for (const part of parts(known, 100)) assert.deepEqual(await wrongFilters(slug, part), []);
      for (const part of parts(others, 50)) {
        const expected = part.map(({ path, operator }, index) => `where[and][${index}][${path}][${operator}]`);
        assert.deepEqual(await wrongFilters(slug, part), expected);
      }
    }
  });

  it('know every path that lists can be sorted by, and no other', async () => {
    const posts = pathsBySlug.get('posts') as DocumentPath[];
    const list = (sort: string) => service.call('GET', `/api/collections/posts?sort=${sort}`);
    const isSorted = posts.filter(({ sorts }) => sorts);
    for (const part of parts(isSorted, 10)) assert.equal((await list(part.map(({ path }) => path).join())).status, 200);
    for (const { path, sorts } of posts) if (!sorts) assert.equal((await list(path)).status, 400, path);
  });

  it('know every path that documents can be grouped by, and no other', async () => {
    const posts = pathsBySlug.get('posts') as DocumentPath[];
    const { days } = pathKindsOf(model.collections.get('posts') as Collection, posts);
    const refusal = async (field: string) => {
      return (await service.call('GET', `/api/collections/posts/distinct?field=${field}&limit=1`)).status !== 200;
    };
    for (const { path, filter } of posts) {
      assert.equal(await refusal(path), filter === 'PresenceFilter', path);
      assert.equal(await refusal(`${path}.month`), !days.includes(path), `${path}.month`);
    }
  });

  it('know every path that documents have figures of, and no other', async () => {
    const posts = pathsBySlug.get('posts') as DocumentPath[];
    const { numbers, times } = pathKindsOf(model.collections.get('posts') as Collection, posts);
    for (const { path } of posts) {
      const figures = { sum: numbers, avg: numbers, min: [...numbers, ...times], max: [...numbers, ...times] };
      const query = Object.keys(figures).map((kind) => `${kind}=${path}`);
      const { body } = await service.call('GET', `/api/collections/posts/aggregate?${query.join('&')}`);
      const wrong = (body.errors ?? []).map(({ field }: { field: string }) => field);
      const expected = Object.entries(figures).flatMap(([kind, paths]) => (paths.includes(path) ? [] : [kind]));
      assert.deepEqual(wrong.toSorted(), expected.toSorted(), path);
    }
  });

  it('know every field that documents can be found by in an upsert, and no other', async () => {
    for (const [slug, paths] of pathsBySlug) {
      const collection = model.collections.get(slug) as Collection;
      if (collection.upload) continue;
      const { unique } = pathKindsOf(collection, paths);
      for (const { path } of paths) {
        const body = { docs: [], upsertBy: path };
        const { status } = await service.call('POST', `/api/collections/${slug}/bulk`, body);
        assert.equal(status, unique.includes(path) ? 200 : 400, `${slug}: ${path}`);
      }
    }
  });

  it('know every path that there is', async () => {
    for (const [slug, paths] of pathsBySlug) {
      const { body } = await service.call('GET', `/api/collections/${slug}?sort=-none${draftOf(slug)}`);
      const [, told = ''] = /allowed: (.*)$/.exec(body.message) ?? [];
      const named = [...told.matchAll(/"(\w+)"/g)].map(([, name]) => name);
      assert.deepEqual(named, [...new Set(paths.map(({ path }) => path.split('.')[0]))]);
    }
  });

  type Condition = { path: string; filter: string; operator: string };

  /** The errors of a service about these conditions. */
  async function wrongFilters(slug: string, conditions: readonly Condition[]): Promise<string[]> {
    const and = conditions.map(({ path, filter, operator }) => ({
      [path]: { [operator]: valueFor(path, filter, operator) },
    }));
    const query = new URLSearchParams({ where: JSON.stringify({ and }) });
    const { body } = await service.call('GET', `/api/collections/${slug}?${query}${draftOf(slug)}`);
    return (body.errors ?? []).map(({ field }: { field: string }) => field);
  }
});

/** The parameter that shows drafts, if a collection has some. */
function draftOf(slug: string): string {
  return model.collections.get(slug)?.drafts ? '&draft=true' : '';
}

/** The operators of each filter, which the compiler holds against its members. */
const operators = {
  TextFilter: all<keyof TextFilter>()('equals', 'not_equals', 'in', 'not_in', 'exists', 'like'),
  IdFilter: all<keyof IdFilter>()(
    'equals',
    'not_equals',
    'in',
    'not_in',
    'exists',
    'like',
    'greater_than',
    'less_than',
    'greater_than_equal',
    'less_than_equal',
  ),
  OrderFilter: all<keyof OrderFilter<number>>()(
    'equals',
    'not_equals',
    'in',
    'not_in',
    'exists',
    'greater_than',
    'less_than',
    'greater_than_equal',
    'less_than_equal',
  ),
  ValueFilter: all<keyof ValueFilter<boolean>>()('equals', 'not_equals', 'in', 'not_in', 'exists'),
  ListFilter: all<keyof ListFilter<string>>()('contains', 'in', 'not_in', 'exists'),
  PresenceFilter: all<keyof PresenceFilter>()('exists'),
};
const allOperators: string[] = [...new Set(Object.values(operators).flat())];

/** A list that names every key. */
function all<Key extends string>() {
  return <const List extends readonly Key[]>(...list: Key extends List[number] ? List : never): string[] => [...list];
}

function operatorsOf(filter: string): string[] {
  return operators[filter.replace(/<.*/, '') as keyof typeof operators];
}

/** A value that the types let stand there. */
function valueFor(path: string, filter: string, operator: string): unknown {
  if (operator === 'exists') return true;
  if (operator === 'in' || operator === 'not_in') return [null];
  if (operator === 'equals' || operator === 'not_equals') return null;
  if (operator === 'like') return 'x';
  if (operator === 'contains') return path === 'tags' ? 'news' : 'x';
  if (filter === 'OrderFilter<number>') return 3;
  if (filter === 'IdFilter') return '01a1fc16-6a0c-7000-a9c2-bca6a06f428d';
  return path === 'hour' ? '12:00' : '2024-02-29';
}

function parts<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}

describe('annals types', () => {
  const out = join(folder, 'new', 'annals.types.ts');

  it('prints the types, or writes them to a file', async () => {
    const printed = await runHere(['types', '--config', configFile]);
    assert.equal(printed.code, 0, printed.stderr);
    const { code, stdout } = await runHere(['types', '--config', configFile, '--out', out]);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: `wrote ${out}, by ${configFile}\n` });
    assert.equal(readFileSync(out, 'utf8'), printed.stdout);
    const again = await runHere(['types', '--config', configFile, '--out', out]);
    assert.equal(again.stdout, `${out} is up to date, by ${configFile}\n`);
  });

  it('--check tells whether a file is up to date: the one of the type tests is', async () => {
    const { code, stderr } = await runHere(['types', '--config', configFile, '--out', typesFile, '--check']);
    assert.equal(code, 0, stderr);
    writeFileSync(out, readFileSync(typesFile, 'utf8').replace('views', 'view'));
    const before = readFileSync(out, 'utf8');
    const changed = await runHere(['types', '--config', configFile, '--out', out, '--check']);
    assert.equal(changed.code, 1);
    assert.match(
      changed.stderr,
      /annals\.types\.ts is not up to date, by .*rich\.config\.ts; annals types --out .* writes it/,
    );
    assert.equal(readFileSync(out, 'utf8'), before);
    const missing = await runHere(['types', '--config', configFile, '--out', join(folder, 'none.ts'), '--check']);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /none\.ts is not there/);
  });

  it('leaves a file alone that it did not write', async () => {
    const mine = join(folder, 'mine.ts');
    writeFileSync(mine, 'export const mine = 1;\n');
    const { code, stderr } = await runHere(['types', '--config', configFile, '--out', mine]);
    assert.equal(code, 2);
    assert.match(stderr, /mine\.ts was not written by annals types/);
    assert.equal(readFileSync(mine, 'utf8'), 'export const mine = 1;\n');
  });

  it('says what is wrong with its arguments', async () => {
    const { code, stderr } = await runHere(['types', '--check']);
    assert.equal(code, 2);
    assert.match(stderr, /--check needs --out FILE/);
    const folderGiven = await runHere(['types', '--config', configFile, '--out', folder]);
    assert.equal(folderGiven.code, 2);
    assert.match(folderGiven.stderr, /cannot be read/);
  });

  it('names types so that no two are the same, and none is a name of the file', () => {
    const fields = [{ name: 'create', type: 'select', options: ['x'] }];
    const slugs = ['post', 'Post-', 'post-create', 'json', '__admins', '_', 'année', 'x1'].filter(
      (slug) => slug !== 'année',
    );
    const labels = { singular: 'Jahr 1', plural: 'Jahre' };
    const text = typesOf([
      ...slugs.map((slug) => ({ slug, fields })),
      { slug: 'a', labels: { singular: '年度', plural: '年度' }, fields },
      { slug: 'b', labels, fields },
      { slug: 'c', labels, fields },
      { slug: 'd', labels: { singular: '!?', plural: '!?' }, fields },
      { slug: 'e', labels: { singular: '3 x', plural: '3 x' }, fields },
    ]);
    const entries = /collections: \{\n(.*?)\n {2}\};/s
      .exec(text)?.[1]
      ?.split('\n')
      .map((line) => line.trim());
    assert.deepEqual(entries, [
      'post: PostTypes;',
      "'Post-': Post2Types;",
      "'post-create': PostCreate2Types;",
      'json: Json2Types;',
      '__admins: AdminsTypes;',
      '_: _Types;',
      'x1: X1Types;',
      'a: 年度Types;',
      'b: Jahr1Types;',
      'c: Jahr12Types;',
      'd: DTypes;',
      'e: _3XTypes;',
    ]);
    const declared = [...text.matchAll(/^export (?:type|interface) ([\p{ID_Continue}]+)/gmu)].map(([, name]) => name);
    assert.deepEqual(declared, [...new Set(declared)]);
  });

  it('lets no label or option out of its comment or literal', () => {
    const texts = ['*/ process.exit() /*', "'; x = '", '"', '\\', '`', 'a\u2028b', '\u202e', '</script>', '\r\n*/'];
    const text = typesOf([
      {
        slug: 'posts',
        fields: texts.map((label, at) => {
          return { name: `f${at}`, type: 'select', label, options: [label], admin: { description: label } };
        }),
      },
    ]);
    for (const comment of text.matchAll(/\/\*\*.*?\*\//gs)) assert.doesNotMatch(comment[0].slice(2, -2), /\*\//);
    const literals = [...text.matchAll(/^export type PostsF\d = (.*);$/gm)].map(([, literal = '']) => literal);
    // The parser of the language reads the intended value back.
    assert.deepEqual(new Function(`return [${literals.join()}];`)(), texts);
    assert.doesNotMatch(text, /[\u2028\u202e]/);
  });
});

/** The types of these collections, in which the parser finds nothing but types and comments. */
function typesOf(collections: unknown): string {
  const text = clientTypes(checkConfig({ collections }));
  const rest = stripTypeScriptTypes(text).replaceAll(/\/\*.*?\*\/|\/\/[^\n]*/gs, '');
  assert.equal(rest.trim(), '');
  return text;
}
