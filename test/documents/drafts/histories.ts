import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { HereService } from '../../helpers/embedded.ts';
import { request } from '../../helpers/requests.ts';
import { type State, type Step, stepped, type Values } from './model.ts';

/** The configuration of the histories: two fields that need nothing. */
export const historyConfig = {
  collections: [
    {
      slug: 'posts',
      drafts: true,
      fields: [
        { name: 'a', type: 'text' },
        { name: 'b', type: 'text' },
      ],
    },
  ],
} as const;

const value = fc.constantFrom('x', 'y', null);
const set = fc.record({ a: value, b: value }, { requiredKeys: [] });
const version = fc.integer({ min: 1, max: 6 });
const isDraft = fc.boolean();

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('update' as const), isDraft, set }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), isDraft }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('publish' as const),
      set: fc.option(set),
      version: fc.constant(null),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('publish' as const), set: fc.constant(null), version }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('unpublish' as const, 'discard' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('restore' as const), isDraft, version }) },
);

/** Runs histories of one document each over HTTP, and compares every status and both lines with the model. */
export async function compareHistories(service: HereService, count: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(isDraft, set, fc.array(step, { minLength: 3, maxLength: 10 }), async (isDraft, first, steps) => {
      await compareHistory(service, { isDraft, first, steps });
    }),
    { numRuns: count },
  );
}

type History = { isDraft: boolean; first: Partial<Values>; steps: readonly Step[] };

async function compareHistory({ url }: HereService, { isDraft, first, steps }: History): Promise<void> {
  const posts = '/api/collections/posts';
  const created = await request(url, 'POST', isDraft ? `${posts}?draft=true` : posts, { body: first });
  assert.equal(created.status, 201);
  const path = `${posts}/${created.body.id}`;
  const values: Values = { a: null, b: null, ...first };
  const states: State[] = [{ published: isDraft ? null : values, draft: values, last: isDraft ? null : values }];
  let shown = await request(url, 'GET', path);
  for (const one of steps) {
    const expected = stepped(states, one);
    const { method, to, body } = sentFor(one);
    const answer = await request(url, method, `${path}${to}`, body === undefined ? {} : { body });
    const told = `${JSON.stringify(one)} after ${JSON.stringify(states)}: ${JSON.stringify(answer.body)}`;
    assert.equal(answer.status, expected.status, told);
    const before = states.at(-1);
    states.push(...expected.states);
    const now = states.at(-1);
    const read = await request(url, 'GET', path);
    assert.deepEqual(read.status === 404 ? null : { a: read.body.a, b: read.body.b }, now?.published, told);
    if (before?.published === now?.published && !(one.do === 'restore' && !one.isDraft)) {
      assert.deepEqual([read.body, read.headers.get('etag')], [shown.body, shown.headers.get('etag')], told);
    }
    shown = read;
  }
  const draft = await request(url, 'PATCH', `${path}?draft=true`, { body: {} });
  const last = states.at(-1);
  assert.deepEqual(draft.status === 404 ? null : { a: draft.body.a, b: draft.body.b }, last?.draft);
  const history = await request(url, 'GET', `/api/audit/documents/posts/${created.body.id}?limit=100`);
  assert.equal(history.body.docs.length, states.length, JSON.stringify(history.body.docs));
}

function sentFor(step: Step): { method: string; to: string; body?: object } {
  switch (step.do) {
    case 'update':
      return { method: 'PATCH', to: draftIf(step.isDraft), body: step.set };
    case 'remove':
      return { method: 'DELETE', to: draftIf(step.isDraft) };
    case 'publish': {
      const body = step.version === null ? { data: step.set } : { version: step.version };
      return { method: 'POST', to: '/publish', body };
    }
    case 'restore':
      return { method: 'POST', to: `/restore${draftIf(step.isDraft)}`, body: { version: step.version } };
    default:
      return { method: 'POST', to: `/${step.do}` };
  }
}

function draftIf(isDraft: boolean): string {
  return isDraft ? '?draft=true' : '';
}
