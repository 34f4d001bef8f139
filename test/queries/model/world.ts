import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { CollectionConfig, Config, FieldConfig } from '../../../config/define.ts';
import type { AccessArgs, Field } from '../../../config/model.ts';
import type { Json, JsonObject } from '../../../config/schema.ts';
import { loggedIn } from '../../helpers/accounts.ts';
import type { Answer, CallOptions, Service } from '../../helpers/service.ts';
import { config, documents, fieldsOf, ids, type Slug, timeOf } from '../../projections/filters.ts';
import { hidden, isAllowed, isLookedAt, lookedAt, type Role, type State } from './documents.ts';

const roleOf = ({ user }: AccessArgs) => (user?.role ?? 'key') as Role;

/** The collections of `filters.ts`, with rules for two kinds of users, fields that they may not read, and a past. */
export const worldConfig = {
  bcryptCost: 4,
  rateLimit: false,
  audit: ({ apiKey }: { apiKey: unknown }) => apiKey !== null,
  collections: [
    {
      slug: 'users',
      auth: { useAPIKey: true },
      access: { read: () => true },
      fields: [{ name: 'role', type: 'select', options: ['where', 'row'] }],
    },
    ...(config.collections ?? []).map((collection) => {
      const fields = collection.fields as FieldConfig[];
      return { ...collection, ...rulesOf(collection.slug as Slug), fields: ruled(collection.slug as Slug, fields) };
    }),
  ],
} as unknown as Config;

function rulesOf(slug: Slug): Partial<CollectionConfig> {
  if (slug === 'others') return { history: 'public', access: { read: () => ({ flag: { not_equals: true } }) } };
  const read = (args: AccessArgs) => {
    if (roleOf(args) === 'where') return { n: { not_equals: 10 } };
    return args.doc !== null && isAllowed('row', slug, args.doc);
  };
  return { history: 'public', access: { read } };
}

function ruled(slug: Slug, fields: readonly FieldConfig[], prefix = ''): FieldConfig[] {
  return fields.map((field) => {
    const path = prefix + ('name' in field ? field.name : '');
    const inside = 'fields' in field && field.fields ? { fields: ruled(slug, field.fields, `${path}.`) } : {};
    if (hidden[slug].includes(path)) return { ...field, access: { read: () => false } } as FieldConfig;
    if (slug !== 'things' || path !== lookedAt) return { ...field, ...inside } as FieldConfig;
    return { ...field, access: { read: ({ doc }: AccessArgs) => doc !== null && isLookedAt(doc) } } as FieldConfig;
  });
}

/** A service that is filled with random documents, and what is known of them. */
export type Filled = {
  /** The states of all moments since all documents were made; the last is today. */
  states: readonly State[];
  callers: Record<Role, CallOptions>;
  /** A text of a generated question, about the ids and times that there really are. */
  real: (text: string) => string;
};

const collection = '/api/collections';

/** Fills a service with documents of a seed: in bulk, then one by one, then changed, deleted, restored. */
export async function fill(service: Pick<Service, 'call'>, seed: number): Promise<Filled> {
  const callers = { key: {}, where: await newUser(service, 'where'), row: await newUser(service, 'row') };
  const sample = { seed, numRuns: 2 };
  const generated = { things: fc.sample(documents('things'), sample), others: fc.sample(documents('others'), sample) };
  const filling = openFilling(service);
  for (const slug of ['others', 'things'] as const) await filling.createAll(slug, generated[slug][0] ?? []);
  for (const slug of ['others', 'things'] as const) await filling.writeAll(slug, generated[slug][0] ?? []);
  await filling.remove('others', 'gone');
  await filling.remove('things', 'gone');
  const { states, change } = filling;
  states.length = 0;
  await change(generated);
  return { states, callers, real: filling.real };
}

async function newUser(service: Pick<Service, 'call'>, role: Role): Promise<CallOptions> {
  const account = { email: `${role}@example.org`, password: 'correct horse battery' };
  await done(service.call('POST', `${collection}/users`, { ...account, role }));
  return (await loggedIn(service, 'users', account.email, account.password)).as;
}

/** The answer of a call that succeeds. */
export async function done(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, body } = await answer;
  assert.ok(status < 300, JSON.stringify(body));
  return body;
}

function openFilling(service: Pick<Service, 'call'>) {
  const docs: Record<Slug, Map<string, JsonObject>> = { things: new Map(), others: new Map() };
  const states: State[] = [];
  const known = new Map<string, string>();
  const codes = new Set<string>();
  const real = (text: string) => known.get(text) ?? text;
  const call = (method: string, path: string, body?: object) =>
    done(service.call(method, `${collection}/${path}`, body));

  async function note(): Promise<void> {
    const today = new Date().toISOString().slice(0, 10);
    const { headers } = await service.call('GET', `${collection}/things?limit=1&asOf=${today}`);
    const position = Number(headers.get('annals-position'));
    states.push({ position, things: [...docs.things.values()], others: [...docs.others.values()] });
  }

  /** Documents without relations, many in a millisecond, and one of each collection that will be gone. */
  async function createAll(slug: Slug, all: readonly JsonObject[]): Promise<void> {
    const { results } = await call('POST', `${slug}/bulk`, { docs: [...all, {}].map(() => ({})) });
    for (const [index, { id }] of results.entries()) {
      const doc = await call('GET', `${slug}/${id}`);
      docs[slug].set(id, doc);
      known.set(ids[slug][index] ?? `gone ${slug}`, id);
      if (slug === 'things') known.set(timeOf(index), doc.createdAt);
    }
  }

  async function writeAll(slug: Slug, all: readonly JsonObject[]): Promise<void> {
    for (const { id, createdAt: _, updatedAt: __, ...values } of all) await patch(slug, real(String(id)), values);
  }

  async function patch(slug: Slug, id: string, values: JsonObject): Promise<void> {
    const fields = fieldsOf(slug).filter(({ name }) => Object.hasOwn(values, name));
    const body = writtenIn(fields, values, (to, one) => {
      const target = one === 'gone' ? known.get(`gone ${to}`) : real(one);
      return target !== undefined && docs[to].has(target) ? target : null;
    });
    if (slug === 'things') claim(codes, body);
    const { updatedAt } = await call('PATCH', `${slug}/${id}`, body);
    docs[slug].set(id, { ...docs[slug].get(id), ...body, updatedAt });
  }

  async function remove(slug: Slug, name: string): Promise<void> {
    const id = name === 'gone' ? (known.get(`gone ${slug}`) ?? '') : real(name);
    await call('DELETE', `${slug}/${id}`);
    docs[slug].delete(id);
  }

  async function restore(slug: Slug, name: string, gone: JsonObject | undefined): Promise<void> {
    const [last] = states.findLast(({ [slug]: all }) => all.some(({ id }) => id === gone?.id)) ? [gone] : [];
    assert.ok(last);
    const { position } = states.findLast(({ [slug]: all }) => all.includes(last)) ?? assert.fail(name);
    const { updatedAt } = await call('POST', `${slug}/${last.id}/restore`, { position });
    docs[slug].set(String(last.id), { ...last, updatedAt });
    docs[slug] = new Map([...docs[slug]].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Some changes of each kind, with a state after each. */
  async function change(generated: Record<Slug, JsonObject[][]>): Promise<void> {
    await note();
    for (let step = 0; step < 16; step += 1) {
      const slug = step % 4 === 3 ? 'others' : 'things';
      const { id: _, createdAt: __, updatedAt: ___, ...values } = generated[slug][1]?.[step % 8] ?? {};
      const names = Object.keys(values).filter((_name, index) => (index + step) % 3 === 0);
      const id = real(ids[slug][(step * 5) % ids[slug].length] ?? '');
      if (docs[slug].has(id))
        await patch(slug, id, Object.fromEntries(names.map((name) => [name, values[name] ?? null])));
      await note();
    }
    for (const [slug, index] of [
      ['things', 3],
      ['others', 2],
      ['things', 7],
    ] as const) {
      const name = ids[slug][index] ?? '';
      const gone = docs[slug].get(real(name));
      await remove(slug, name);
      await note();
      if (index !== 7) continue;
      await restore(slug, name, gone);
      await note();
    }
  }

  return { states, real, createAll, writeAll, remove, change };
}

/** Of two documents with one unique value, the first has it. */
function claim(codes: Set<string>, body: JsonObject): void {
  if (typeof body.code !== 'string') return;
  if (codes.has(body.code)) body.code = null;
  else codes.add(body.code);
}

type Refer = (slug: Slug, id: string) => string | null;

/** Generated values as a body that is accepted, in the form in which they come back. */
function writtenIn(fields: readonly Field[], values: JsonObject, refer: Refer): JsonObject {
  return Object.fromEntries(fields.map((field) => [field.name, writtenAs(field, values[field.name] ?? null, refer)]));
}

function writtenAs(field: Field, value: Json, refer: Refer): Json {
  const { type, relationTo, fields, blocks } = field;
  if (relationTo && Array.isArray(value)) {
    return [...new Set(value.map((id) => refer(relationTo as Slug, String(id))))].filter((id) => id !== null);
  }
  if (value === null) return null;
  if (relationTo) return refer(relationTo as Slug, String(value));
  if (type === 'object') return writtenIn(fields ?? [], value as JsonObject, refer);
  if (type === 'array') return (value as JsonObject[]).map((item) => writtenIn(fields ?? [], item, refer));
  if (blocks) {
    return (value as JsonObject[]).map((item) => {
      const inside = blocks.find(({ slug }) => slug === item.blockType)?.fields ?? [];
      return { blockType: item.blockType as string, ...writtenIn(inside, item, refer) };
    });
  }
  return typeof value === 'string' ? formed(field, value) : value;
}

/** A text in the form of its field. */
export function formed({ type }: Field, text: string): string {
  if (type === 'email') return `u${Buffer.from(text).toString('hex')}@example.org`;
  if (type === 'url') return `https://example.org/${Buffer.from(text).toString('hex')}`;
  return type === 'time' && text.endsWith(':00') && text.length > 5 ? text.slice(0, 5) : text;
}

/** As `assert.deepEqual`, which takes long to compare large documents. */
export function assertSame(found: unknown, expected: unknown, what: string): void {
  if (!isDeepStrictEqual(found, expected)) assert.deepEqual(found, expected, what);
}
