import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before } from 'node:test';
import Hapi from '@hapi/hapi';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { checkConfig } from '../../config/check.ts';
import { createIds } from '../../events/ids.ts';
import { boot, logFile } from '../../projections/boot.ts';
import type { Keeper } from '../../server/accounts/keeper.ts';
import { type App, openApp } from '../../server/app.ts';
import { createLog } from '../../server/logging.ts';
import type { Notary } from '../../server/notary/notary.ts';
import { makeOpenApi } from '../../server/openapi/document.ts';
import { annals } from '../../server/plugin.ts';
import { createState } from '../../server/state.ts';
import { type Answer, apiKey, type CallOptions, type Service } from './service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into all of it
export type OpenApi = any;

/** Nobody calls routes here. */
const keeper = new Proxy({} as Keeper, { get: () => () => assert.fail('there are no secrets here') });

const notary = new Proxy({} as Notary, { get: () => () => assert.fail('nothing is signed here') });

/** Opens an app of this configuration in a folder of its own, without a writer, for as long as `run` takes. */
export async function withApp<T>(
  config: unknown,
  run: (app: App) => Promise<T>,
  baseUrl: string | null = null,
): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'annals-test-'));
  const model = checkConfig(config);
  const counter = new BigInt64Array(new SharedArrayBuffer(8));
  const ids = createIds(counter, Date.now);
  const { readFile } = boot({ directory, schema: model.schema, ids, now: Date.now, logId: 'annals/test' });
  const operatorHash = Buffer.alloc(32);
  const secrets = { site: null, apiKeys: [], secrets: [], operatorHash, attemptSecret: '' };
  const blobs = { kind: 'folder', folder: join(directory, 'blobs') } as const;
  const shared = {
    readFile,
    logFile: logFile(directory),
    counter,
    state: createState(),
    ...secrets,
    baseUrl,
    isProduction: false,
    blobs,
  };
  const app: ReturnType<typeof openApp> = openApp({
    model,
    shared,
    append: () => assert.fail('nothing is written here'),
    keeper,
    notary,
    eraser: new Proxy({} as App['eraser'], { get: () => () => assert.fail('nothing is erased here') }),
    pins: {
      pin: async () => {},
      unpin: async () => {},
      discard: async () => {},
      collect: async () => ({ removed: [], held: [] }),
    },
    log: createLog('silent', { write: () => {} }),
    openApi: () => makeOpenApi(app),
  });
  try {
    return await run(app);
  } finally {
    await app.close();
    rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}

/** Every route that the service has, as `GET /path`. */
export async function routesOf(app: App): Promise<string[]> {
  const server = Hapi.server({ debug: false });
  await server.register({ plugin: annals, options: { app } });
  return server.table().map(({ method, path }) => `${method.toUpperCase()} ${path}`);
}

/** Every operation of a document, as `GET /path`. */
export function operationsOf(document: OpenApi): string[] {
  return Object.entries<OpenApi>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
}

/** Every answer of a document, as `GET /path 200`. */
export function answersOf(document: OpenApi): string[] {
  return operationsOf(document).flatMap((operation) => {
    const [method = '', path = ''] = operation.split(' ');
    const { responses } = document.paths[path][method.toLowerCase()];
    return Object.keys(responses).map((status) => `${operation} ${status}`);
  });
}

/** Compiles schemas of a document: a path like `/components/schemas/Error`, whose parts may hold any character. */
export function schemasIn(document: OpenApi): (...path: string[]) => ValidateFunction {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi');
  return (...path) => {
    const pointer = path.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/');
    return ajv.compile({ $ref: `openapi#/${encodeURI(pointer)}` });
  };
}

/** Calls a service and holds every answer against its own document. */
export type DescribedCalls = {
  /** Makes a call of an operation, to `path` where that is not its template, and asserts its status too. */
  described: (
    operation: string,
    wanted: number,
    options?: CallOptions & { path?: string; body?: unknown },
  ) => Promise<Answer>;
  /** The document, once tests run. */
  document: () => OpenApi;
  /** What was answered: an operation and a key of its responses, as `GET /path 200`. */
  met: ReadonlySet<string>;
};

/** For all tests of the `describe` that calls this. */
export function useDescribedCalls(service: Service): DescribedCalls {
  const met = new Set<string>();
  let document: OpenApi;
  before(async () => {
    document = (await service.call('GET', '/api/openapi.json')).body;
  });

  async function described(
    operation: string,
    wanted: number,
    { path, body, ...options }: CallOptions & { path?: string; body?: unknown } = {},
  ): Promise<Answer> {
    const [method = '', template = ''] = operation.split(' ');
    const isFile = body instanceof FormData || template.startsWith('/api/media/');
    const answer = isFile
      ? await callWithFile(service, method, path ?? template, body, options)
      : await service.call(method, path ?? template, body, options);
    assert.equal(answer.status, wanted, `${operation}: ${JSON.stringify(answer.body)}`);
    met.add(`${operation} ${assertDescribed(document, operation, answer)}`);
    return answer;
  }

  return { described, document: () => document, met };
}

/** Calls a service with a form, or for a file: a body that is not JSON is given as its bytes. */
async function callWithFile(
  service: Service,
  method: string,
  path: string,
  body: unknown,
  { key = apiKey, headers = {} }: CallOptions,
): Promise<Answer> {
  const response = await fetch(service.url + path, {
    method,
    headers: { ...(key === null ? {} : { 'x-api-key': key }), ...headers },
    ...(body === undefined ? {} : { body: body as FormData }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  const { status } = response;
  return {
    status,
    headers: response.headers,
    body: bytes.length > 0 ? (isJson ? JSON.parse(`${bytes}`) : bytes) : null,
  };
}

/**
 * Asserts that an answer is one that the document names for an operation, with the body and the headers that it says.
 *
 * @returns the key that it is described under: its status, or `default`.
 */
export function assertDescribed(document: OpenApi, operation: string, { status, headers, body }: Answer): string {
  const [method = '', path = ''] = operation.split(' ');
  const described = document.paths[path]?.[method.toLowerCase()];
  assert.ok(described, `${operation} is not described`);
  const key = Object.hasOwn(described.responses, status) ? String(status) : 'default';
  const response = described.responses[key];
  assert.ok(response, `${operation}: ${status} is not described`);
  for (const [name, { required, schema }] of Object.entries<OpenApi>(response.headers ?? {})) {
    const value = headers.get(name);
    assert.ok(value !== null || !required, `${operation} ${status}: there is no ${name}`);
    if (value !== null && schema.type === 'integer') assert.match(value, /^\d+$/);
  }
  if (!response.content) {
    assert.deepEqual([body, headers.get('content-type')], [null, null], `${operation} ${status} has a body`);
    return key;
  }
  if (response.content['*/*']) {
    assert.ok(headers.get('content-type') && Buffer.isBuffer(body), `${operation} ${status} is no file`);
    return key;
  }
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
  const where = ['paths', path, method.toLowerCase(), 'responses', key, 'content', 'application/json', 'schema'];
  const validate = schemasIn(document)(...where);
  assert.ok(validate(body), `${operation} ${status}: ${JSON.stringify(validate.errors)} in ${JSON.stringify(body)}`);
  return key;
}
