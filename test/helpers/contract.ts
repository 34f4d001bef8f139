import assert from 'node:assert/strict';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { Answer } from './service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into all of it
export type OpenApi = any;

/** An OpenAPI document against which answers are checked, and which of its parts the answers have shown. */
export type Contract = {
  document: OpenApi;
  /**
   * Asserts that the document describes an answer of an operation (`GET /path`): its status, every member of its body,
   * every header.
   *
   * @returns the key that it is described under: its status, or `default`.
   */
  check: (operation: string, answer: Answer) => string;
  /** The answers that came: an operation and a key of its responses, as `GET /path 200`. */
  met: ReadonlySet<string>;
  /** The codes of the errors that came. */
  codes: ReadonlySet<string>;
  /** The codes of the entries of `errors` that came. */
  entryCodes: ReadonlySet<string>;
  /** The answers that the document names and that did not come, in the form of `met`. */
  unmet: () => string[];
  /** The members, nulls, alternatives, headers and media types that the document names and that no answer had. */
  unseen: () => string[];
};

/** Headers of every answer: those of HTTP itself, and those of the service, which the document describes once. */
const everywhere = new Set([
  'annals-position',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'ratelimit',
  'ratelimit-policy',
  'transfer-encoding',
  'vary',
  'x-content-type-options',
  'x-request-id',
]);

/** Every operation of a document, as `GET /path`. */
export function operationsOf(document: OpenApi): string[] {
  return Object.entries<OpenApi>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
}

/** Every answer of a document, as `GET /path 200`. */
export function answersOf(document: OpenApi): string[] {
  return operationsOf(document).flatMap((operation) =>
    Object.keys(described(document, operation).responses).map((status) => `${operation} ${status}`),
  );
}

/** The description of an operation in a document, with the parts in their places that it shares with others. */
export function described(document: OpenApi, operation: string): OpenApi {
  const [method = '', path = ''] = operation.split(' ');
  return inlined(document).paths[path]?.[method.toLowerCase()];
}

const whole = new WeakMap<object, OpenApi>();

/**
 * A document with the answers, parameters, bodies, headers, examples and credentials at each operation, as a reader of
 * `$ref`s finds them, and with the members of a list in one object.
 */
export function inlined(document: OpenApi): OpenApi {
  const shared = ['responses', 'parameters', 'requestBodies', 'headers', 'examples'];
  if (!shared.some((kind) => document.components[kind])) return document;
  const known = whole.get(document);
  if (known) return known;
  const copy = structuredClone(document);
  const follow = ({ $ref, ...own }: OpenApi): OpenApi =>
    $ref === undefined ? own : follow(partsOf($ref.slice(1)).reduce((inside, part) => inside[part], document));
  const followAll = (parts: object): OpenApi =>
    Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, follow(part)]));
  for (const methods of Object.values<OpenApi>(copy.paths)) {
    for (const operation of Object.values<OpenApi>(methods)) {
      if (document.security) operation.security ??= document.security;
      if (operation.parameters) operation.parameters = operation.parameters.map(follow);
      if (operation.requestBody) operation.requestBody = follow(operation.requestBody);
      operation.responses = followAll(operation.responses);
      for (const response of Object.values<OpenApi>(operation.responses))
        if (response.headers) response.headers = followAll(response.headers);
      for (const parameter of operation.parameters ?? [])
        if (parameter.examples) parameter.examples = followAll(parameter.examples);
    }
  }
  for (const [name, { allOf, ...rest }] of Object.entries<OpenApi>(copy.components.schemas))
    if (name.endsWith('.list')) copy.components.schemas[name] = { ...rest, ...inOne(allOf.map(follow)) };
  for (const kind of shared) delete copy.components[kind];
  delete copy.security;
  whole.set(document, copy);
  return copy;
}

/** The object that has the members of all of these. */
function inOne(objects: readonly OpenApi[]): OpenApi {
  const required = objects.flatMap((one) => one.required ?? []);
  return { type: 'object', properties: Object.assign({}, ...objects.map((one) => one.properties)), required };
}

/**
 * Asserts that a document describes every operation and tag in more words than its name, and leaves nothing to be
 * filled in.
 */
export function assertTold(document: OpenApi): void {
  const unfilled = /undefined|\bnull\b(?!`)|NaN|\[object|\$\{/;
  for (const operation of operationsOf(document)) {
    const { summary, description = '' } = described(document, operation);
    assert.match(description, /^[A-Z].{40,}\.$/s, operation);
    assert.doesNotMatch(description, unfilled, operation);
    assert.ok(!description.startsWith(summary), operation);
  }
  for (const { name, description } of document.tags) {
    assert.match(description, /^\S+( \S+)+\.$/, name);
    assert.doesNotMatch(description, unfilled, name);
  }
}

/**
 * Compiles the schema at a path like `/components/schemas/Error` of a document; the parts of a path may hold any
 * character.
 */
export function schemasIn(document: OpenApi): (...path: string[]) => ValidateFunction {
  const ajv = new Ajv({ strict: false, allErrors: true, inlineRefs: false, code: { optimize: false } });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi');
  return (...path) => ajv.compile({ $ref: `openapi#${encodeURI(pointerTo(path))}` });
}

const contracts = new WeakMap<object, Contract>();

/** The contract of a document. Each document has one, because its schemas take time to compile. */
export function contractOf(document: OpenApi): Contract {
  const contract = contracts.get(document) ?? makeContract(document);
  contracts.set(document, contract);
  return contract;
}

function makeContract(document: OpenApi): Contract {
  const closed = withoutOthers(inlined(document));
  const compile = schemasIn(closed);
  const validators = new Map<string, ValidateFunction>();
  const met = new Set<string>();
  const seen = new Set<string>();
  const codes = new Set<string>();
  const entryCodes = new Set<string>();

  function validator(path: string): ValidateFunction {
    const { $ref } = resolve(`#${path}`);
    if ($ref) return validator($ref.slice(1));
    const known = validators.get(path) ?? compile(...partsOf(path));
    validators.set(path, known);
    return known;
  }

  function check(operation: string, { status, headers, body }: Answer): string {
    const told = described(closed, operation);
    assert.ok(told, `${operation} is not described`);
    const key = Object.hasOwn(told.responses, status) ? String(status) : 'default';
    const answer = `${operation} ${key}`;
    const response = told.responses[key];
    assert.ok(response, `${operation}: ${status} is not described: ${JSON.stringify(body)}`);
    checkHeaders(`${operation} ${status}`, response, headers);
    if (status < 400 && told.security?.some((one: object) => Object.keys(one).length > 0))
      checkCaching(answer, headers);
    for (const name of headers.keys()) seen.add(`${answer} ${name}`);
    met.add(answer);
    if (!response.content) {
      assert.deepEqual([body, headers.get('content-type')], [null, null], `${answer} has a body`);
      return key;
    }
    const type = headers.get('content-type')?.split(';', 1)[0] ?? '';
    const media = Object.hasOwn(response.content, type) ? type : '*/*';
    assert.ok(type !== '' && Object.hasOwn(response.content, media), `${answer} is of the type "${type}"`);
    seen.add(`${answer} ${media}`);
    if (media !== 'application/json') {
      assert.ok(Buffer.isBuffer(body), `${answer} has no body`);
      return key;
    }
    const [method = '', path = ''] = operation.split(' ');
    const parts = ['paths', path, method.toLowerCase(), 'responses', key, 'content', 'application/json', 'schema'];
    const at = pointerTo(parts);
    const validate = validator(at);
    const isRight = validate(body);
    assert.ok(isRight, `${operation} ${status}: ${JSON.stringify(validate.errors)} in ${JSON.stringify(body)}`);
    note(at, response.content['application/json'].schema, body);
    codes.add(codeIn(body));
    for (const code of entryCodesIn(body)) entryCodes.add(code);
    return key;
  }

  /** Notes which parts of a schema occur in a value that fits it. */
  function note(at: string, schema: OpenApi, value: unknown): void {
    if (schema.$ref) {
      note(schema.$ref.slice(1), resolve(schema.$ref), value);
      return;
    }
    seen.add(value === null ? `${at} null` : at);
    for (const [branch, inner] of branchesOf(at, schema)) if (validator(branch)(value)) note(branch, inner, value);
    if (value === null) return;
    if (Array.isArray(value) && schema.items) for (const item of value) note(`${at}/items`, schema.items, item);
    if (typeof value !== 'object' || Array.isArray(value)) return;
    for (const [name, inner] of Object.entries(value)) {
      if (Object.hasOwn(schema.properties ?? {}, name))
        note(`${at}/properties/${escaped(name)}`, schema.properties[name], inner);
    }
  }

  /** All parts that values of a schema can have, as {@link note} notes them. */
  function list(at: string, schema: OpenApi, into: Set<string>): void {
    if (schema.$ref) {
      const target = schema.$ref.slice(1);
      if (!into.has(target)) list(target, resolve(schema.$ref), into);
      return;
    }
    if (schema.enum?.length !== 1 || schema.enum[0] !== null) into.add(at);
    if (schema.nullable) into.add(`${at} null`);
    for (const [branch, inner] of branchesOf(at, schema)) list(branch, inner, into);
    if (schema.items) list(`${at}/items`, schema.items, into);
    for (const [name, inner] of Object.entries(schema.properties ?? {}))
      list(`${at}/properties/${escaped(name)}`, inner, into);
  }

  function resolve(ref: string): OpenApi {
    return partsOf(ref.slice(1)).reduce((inside, part) => inside[part], closed);
  }

  function unseen(): string[] {
    const all = new Set<string>();
    for (const answer of answersOf(closed)) {
      const [method = '', path = '', key = ''] = answer.split(' ');
      const { content, headers = {} } = closed.paths[path][method.toLowerCase()].responses[key];
      for (const name of Object.keys(headers)) all.add(`${answer} ${name.toLowerCase()}`);
      const parts = ['paths', path, method.toLowerCase(), 'responses', key, 'content', 'application/json', 'schema'];
      for (const type of Object.keys(content ?? {})) all.add(`${answer} ${type}`);
      const schema = content?.['application/json']?.schema;
      if (schema) list(pointerTo(parts), schema, all);
    }
    return [...all].filter((one) => !seen.has(one));
  }

  return {
    document,
    check,
    met,
    codes,
    entryCodes,
    unmet: () => answersOf(closed).filter((answer) => !met.has(answer)),
    unseen,
  };
}

/** The code of an error; empty for any other body. */
function codeIn(body: unknown): string {
  const isError = typeof body === 'object' && body !== null && 'statusCode' in body && 'code' in body;
  return isError ? String(body.code) : '';
}

function entryCodesIn(body: unknown): string[] {
  const isError = typeof body === 'object' && body !== null && 'errors' in body && Array.isArray(body.errors);
  return isError ? (body.errors as { code: string }[]).map(({ code }) => code) : [];
}

function checkHeaders(answer: string, { headers: told = {} }: OpenApi, headers: Headers): void {
  const names = Object.keys(told).map((name) => name.toLowerCase());
  for (const [name, { required, schema }] of Object.entries<OpenApi>(told)) {
    const value = headers.get(name);
    assert.ok(value !== null || !required, `${answer}: there is no ${name}`);
    if (value !== null && schema.type === 'integer') assert.match(value, /^\d+$/);
  }
  const others = [...headers.keys()].filter((name) => !everywhere.has(name) && !names.includes(name));
  assert.deepEqual(others, [], `${answer}: these headers are not described`);
}

/** Asserts that an answer which depends on a credential tells caches so. */
function checkCaching(answer: string, headers: Headers): void {
  const depends = (headers.get('vary') ?? '').split(',');
  for (const name of ['authorization', 'cookie', 'x-api-key'])
    assert.ok(depends.includes(name), `${answer}: vary has no ${name}`);
}

/** The alternatives of a schema. */
function branchesOf(at: string, schema: OpenApi): [at: string, schema: OpenApi][] {
  return ['oneOf', 'anyOf', 'allOf'].flatMap((keyword) =>
    (schema[keyword] ?? []).map((inner: OpenApi, index: number) => [`${at}/${keyword}/${index}`, inner] as const),
  );
}

/**
 * A copy of a document whose objects allow only the members that they name. In the document the objects of answers are
 * open, so that clients accept members that are added one day; in these tests a further member is one without a
 * description.
 */
function withoutOthers(document: OpenApi): OpenApi {
  const copy = structuredClone(document);
  for (const schema of Object.values(copy.components.schemas)) close(schema);
  for (const methods of Object.values<OpenApi>(copy.paths)) {
    for (const { responses } of Object.values<OpenApi>(methods)) {
      for (const { content } of Object.values<OpenApi>(responses)) {
        for (const { schema } of Object.values<OpenApi>(content ?? {})) close(schema);
      }
    }
  }
  return copy;
}

function close(schema: OpenApi): void {
  if (schema.properties) schema.additionalProperties ??= false;
  for (const inner of Object.values(schema.properties ?? {})) close(inner);
  for (const [, inner] of branchesOf('', schema)) close(inner);
  if (schema.items) close(schema.items);
}

function pointerTo(parts: readonly string[]): string {
  return parts.map((part) => `/${escaped(part)}`).join('');
}

function partsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function escaped(part: string): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1');
}
