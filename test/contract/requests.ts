import fc from 'fast-check';
import { described, type OpenApi } from '../helpers/contract.ts';
import type { Sent } from '../helpers/requests.ts';
import type { Operation } from './calls.ts';
import { inJson, mutated, valuesOf } from './values.ts';
import { type Call, newAddress, type World } from './world.ts';

/** A call; `plain` is its body if everything but the body is right. */
export type Request = { call: Call; plain?: { type: string; value: unknown } };

/** A value that may be more than text: the values of headers and of parts of a path. */
const odd = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom('', '0', '-1', '1e9', 'null', '[]', '{}', '%', '\0', '../..', 'x'.repeat(300), '9'.repeat(40)),
);
const latin1 = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code < 0x7f || code > 0x9f)
    .map((code) => String.fromCharCode(code)),
  maxLength: 30,
});

/**
 * Requests for an operation: as the document has them, and with something wrong. @param known ids of documents that
 * there are.
 */
export function requestsFor(world: World, operation: Operation, known: readonly string[]): fc.Arbitrary<Request> {
  const { document } = world.contract;
  const { parameters = [], requestBody } = described(document, operation.name);
  const values = valuesOf(document, (slug) => world.documents[slug]?.id);
  const usual = usualCaller(world, operation);
  const [, template = ''] = operation.name.split(' ');
  const inPlace = (place: string): OpenApi[] => parameters.filter((one: OpenApi) => one.in === place);
  const bodies = Object.entries<OpenApi>(requestBody?.content ?? {}).map(([type, { schema }]) => {
    const value = values(schema);
    return fc.record({ type: fc.constant(type), value: fc.oneof(value, mutated(value)) });
  });
  return fc
    .record({
      isPlain: fc.boolean(),
      path: pathOf(template, known, operation.kind === 'readFile' ? [world.documents.files.url] : []),
      query: queryOf(inPlace('query'), values),
      headers: headersOf(inPlace('header')),
      body: bodies.length > 0 ? fc.oneof(...bodies) : fc.constant(null),
      raw: rarely(fc.constantFrom('', '{', 'null', '[]', '"x"', '{"a":1}{', '\ufeff{}', '{"__proto__":1}')),
      caller: fc.oneof(
        { weight: 4, arbitrary: fc.constant(usual) },
        { weight: 3, arbitrary: fc.constantFrom<Sent>(world.admin, world.member) },
        { weight: 1, arbitrary: fc.constantFrom<Sent>({ key: null }, { key: 'wrong' }) },
      ),
    })
    .map(({ isPlain, path, query, headers, body, raw, caller }) => {
      const who = isPlain ? usual : caller;
      const named = template.replace('globals/{slug}', 'globals/site').replace('{slug}', 'users');
      const plainPath = named.replace('{id}', known[0] ?? '');
      const sent = body && (raw === null || isPlain ? encoded(body.type, body.value) : raw);
      const call: Call = {
        ...who,
        path: isPlain ? plainPath : `${path}${query}`,
        headers: Object.assign(newAddress(), isPlain ? none : headers, who.headers),
        ...(body ? { body: sent } : {}),
      };
      return { call, ...(isPlain && body ? { plain: body } : {}) };
    });
}

const none: Record<string, string> = {};

function rarely<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
}

/** The callers who may do it, as a rule. */
function usualCaller({ admin, member, caller }: World, { kind, slug }: Operation): Sent {
  if (/^(invite|\w+Preferences|\w+Drafts?(OfGlobal)?|listInvitations|readInvitation|withdrawInvitation)$/.test(kind))
    return admin;
  if (!/^(me|logout|refreshToken|listSessions|endOwnSession)$/.test(kind)) return caller(slug);
  return slug === 'users' ? admin : member;
}

function pathOf(template: string, known: readonly string[], whole: readonly string[]): fc.Arbitrary<string> {
  const part = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...known, 'x') },
    { weight: 1, arbitrary: fc.uuid() },
    { weight: 1, arbitrary: odd },
  );
  const made = fc.array(part, { minLength: 2, maxLength: 2 }).map(([first = '', second = '']) => {
    let rest = [first, second];
    return template.replace(/\{\w+\}/g, () => {
      const [next = '', ...others] = rest;
      rest = others;
      return encodeURIComponent(next.toWellFormed()) || 'x';
    });
  });
  return whole.length > 0
    ? fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...whole) }, { weight: 1, arbitrary: made })
    : made;
}

function queryOf(
  parameters: readonly OpenApi[],
  values: (schema: OpenApi) => fc.Arbitrary<unknown>,
): fc.Arbitrary<string> {
  const each = parameters.map(({ name, schema }) => {
    // The text of a filter is JSON, which its schema does not say.
    const value = schema.oneOf ? textToo(values(schema.oneOf[0])) : values(schema);
    return fc
      .oneof({ weight: 3, arbitrary: value }, { weight: 1, arbitrary: mutated(value) }, { weight: 1, arbitrary: odd })
      .map((found) => pairsOf(name, found));
  });
  const unknown = fc.tuple(odd, odd).map(([name, value]) => [[name || 'x', value]] as [string, string][]);
  return fc
    .record({
      told: fc.subarray(each.length > 0 ? each.map((_, index) => index) : [0]),
      all: fc.tuple(...each),
      other: rarely(unknown),
    })
    .map(({ told, all, other }) => {
      const pairs = [...told.flatMap((index) => all[index] ?? []), ...(other ?? [])];
      const text = pairs.map((pair) => pair.map((one) => encodeURIComponent(one.toWellFormed())).join('=')).join('&');
      // Names keep their brackets, as browsers send them.
      return text === '' ? '' : `?${text.replaceAll('%5B', '[').replaceAll('%5D', ']').slice(0, 6000)}`;
    });
}

function textToo(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 2, arbitrary: value }, { weight: 1, arbitrary: value.map(inJson) });
}

/** A value in a query: what is nested in brackets, as a deepObject that goes on. */
export function pairsOf(name: string, value: unknown): [string, string][] {
  if (typeof value !== 'object' || value === null) return [[name, String(value)]];
  return Object.entries(value).flatMap(([key, inner]) => pairsOf(`${name}[${key}]`, inner));
}

function headersOf(parameters: readonly OpenApi[]): fc.Arbitrary<Record<string, string | undefined>> {
  const value = fc.oneof(
    latin1,
    fc.constantFrom(
      '*',
      '"1-x"',
      '"',
      'W/"1-x"',
      'bytes=0-3',
      'bytes=9-1',
      'bytes=0-0,2-3',
      "UTF-8''%E4",
      'x'.repeat(600),
    ),
  );
  const names = ['accept', ...parameters.map(({ name }) => name.toLowerCase())];
  return fc
    .uniqueArray(fc.tuple(fc.constantFrom(...names), value), { selector: ([name]) => name })
    .map(Object.fromEntries);
}

/** A body as it is sent. */
function encoded(type: string, value: unknown): unknown {
  if (type !== 'multipart/form-data') return inJson(value);
  const form = new FormData();
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  for (const [name, member] of members) {
    if (name === 'file' && typeof member === 'string')
      form.append(name, new Blob([member.toWellFormed()]), 'a file.txt');
    else
      for (const part of Array.isArray(member) && member.every((one) => typeof one === 'string') ? member : [member])
        form.append(name, typeof part === 'string' ? part : inJson(part));
  }
  return form;
}
