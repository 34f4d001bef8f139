import assert from 'node:assert/strict';
import type { Answer, CallOptions, Service } from '../helpers/service.ts';

/** Internals of the service, which no refusal may show. */
const innards = /SQLITE|SqliteError|SELECT |json_each|no such column|near "|\.ts\b|node_modules|\/tmp\//;

/** Calls of a service for tests of filters. */
export function asking(service: Pick<Service, 'call'>) {
  async function call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer> {
    const answer = await service.call(method, path, body, options);
    if (answer.status >= 400) assert.doesNotMatch(JSON.stringify(answer.body), innards);
    return answer;
  }

  async function create(slug: string, values: object): Promise<string> {
    const answer = await call('POST', `/api/collections/${slug}`, values);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body.id;
  }

  const query = (slug: string, text: string, options?: CallOptions) =>
    call('GET', `/api/collections/${slug}?${text}`, undefined, options);

  const json = (where: unknown) => `where=${encodeURIComponent(JSON.stringify(where))}`;

  const brackets = (path: string, operator: string, value: string) =>
    `where[${path}][${operator}]=${encodeURIComponent(value)}`;

  /** The names of the documents that a filter finds, in the order of their creation. */
  async function found(slug: string, text: string, options?: CallOptions): Promise<string[]> {
    const answer = await query(slug, `${text}&sort=createdAt&limit=100`, options);
    assert.equal(answer.status, 200, `${text} ${JSON.stringify(answer.body)}`);
    const names = answer.body.docs.map((doc: { name?: string; shown?: string }) => doc.name ?? doc.shown);
    assert.equal(answer.body.total, names.length, text);
    return names;
  }

  async function refused(slug: string, text: string, options?: CallOptions): Promise<Answer> {
    const answer = await query(slug, text, options);
    assert.deepEqual([answer.status, answer.body.error], [400, 'Validation Error'], text);
    assert.ok(JSON.stringify(answer.body).length < 20_000, text);
    return answer;
  }

  return { brackets, call, create, found, json, query, refused };
}
