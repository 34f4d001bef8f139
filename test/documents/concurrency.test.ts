import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRecorded } from '../helpers/recorded.ts';
import type { Answer } from '../helpers/service.ts';
import { fieldsOf, recordedData, recordedEvents, useService } from '../helpers/shared.ts';

const many = 20;
const names = Array.from({ length: many }, (_, index) => `field${index}`);
const fields = names.map((name) => ({ name, type: 'text' }));

const service = useService(
  {
    collections: [
      {
        slug: 'things',
        fields: [{ name: 'code', type: 'text', unique: true }, { name: 'n', type: 'number' }, ...fields],
      },
    ],
    globals: [{ slug: 'site', fields }],
  },
  { ANNALS_THREADS: '2' },
);

const path = '/api/collections/things';

async function create(body: object = {}): Promise<string> {
  const answer = await service.call('POST', path, body);
  assert.equal(answer.status, 201);
  return answer.body.id;
}

/** The same thing many times at once. */
const atOnce = (run: (index: number) => Promise<Answer>) =>
  Promise.all(Array.from({ length: many }, (_, index) => run(index)));

const count = (answers: Answer[], status: number) => answers.filter((answer) => answer.status === status).length;

describe('Twenty callers at once', () => {
  it('who create documents with one unique value: one gets 201, nineteen 409', async () => {
    const race = () => atOnce(() => service.call('POST', path, { code: 'only' }));
    const answers = await assertRecorded(service, race, ['document.created']);
    assert.deepEqual([count(answers, 201), count(answers, 409)], [1, 19]);
    for (const answer of answers) if (answer.status === 409) assert.deepEqual(fieldsOf(answer), ['code']);
    const { body } = await service.call('GET', `${path}?limit=100`);
    assert.equal(body.docs.filter(({ code }: { code: string }) => code === 'only').length, 1);
  });

  it('who change documents to one unique value: one gets 200, nineteen 409', async () => {
    const ids = await Promise.all(names.map(() => create()));
    const race = () => atOnce((index) => service.call('PATCH', `${path}/${ids[index]}`, { code: 'wanted' }));
    const answers = await assertRecorded(service, race, ['document.updated']);
    assert.deepEqual([count(answers, 200), count(answers, 409)], [1, 19]);
    const documents = await Promise.all(ids.map((id) => service.call('GET', `${path}/${id}`)));
    assert.equal(documents.filter(({ body }) => body.code === 'wanted').length, 1);
  });

  it('who create different documents all get one, with ids of their own', async () => {
    const race = () => atOnce((n) => service.call('POST', path, { n, code: `own-${n}` }));
    const answers = await assertRecorded(service, race, Array(many).fill('document.created'));
    assert.equal(count(answers, 201), many);
    assert.equal(new Set(answers.map(({ body }) => body.id)).size, many);
    for (const { body } of answers) assert.deepEqual((await service.call('GET', `${path}/${body.id}`)).body, body);
    const events = recordedEvents(service.data);
    assert.deepEqual(
      events.map(({ position }) => position),
      events.map((_, index) => index + 1),
    );
  });

  it('who change different fields of one document: all changes survive', async () => {
    const id = await create();
    const race = () =>
      atOnce((index) => service.call('PATCH', `${path}/${id}`, { [`field${index}`]: `value ${index}` }));
    const answers = await assertRecorded(service, race, Array(many).fill(`document.updated things/${id}`));
    assert.equal(count(answers, 200), many);
    const { body } = await service.call('GET', `${path}/${id}`);
    assert.deepEqual(
      names.map((name) => body[name]),
      names.map((_, index) => `value ${index}`),
    );
  });

  it('who change the same field: the last wins, and all of them are in the log', async () => {
    const id = await create({ n: -1 });
    const answers = await atOnce((n) => service.call('PATCH', `${path}/${id}`, { n }));
    assert.equal(count(answers, 200), many);
    for (const [n, { body }] of answers.entries()) assert.equal(body.n, n);
    const stream = `things/${id}`;
    const events = recordedEvents(service.data, stream).slice(1);
    assert.deepEqual(
      events.map(({ type, version }) => [type, version]),
      names.map((_, index) => ['document.updated', index + 2]),
    );
    const changes = recordedData(service.data, stream).slice(1) as { set: { n: number; updatedAt: string } }[];
    assert.deepEqual(
      changes.map(({ set }) => set.n).sort((a, b) => a - b),
      names.map((_, index) => index),
    );
    const { body } = await service.call('GET', `${path}/${id}`);
    assert.deepEqual([body.n, body.updatedAt], [changes.at(-1)?.set.n, changes.at(-1)?.set.updatedAt]);
    assert.equal(new Set(events.map(({ correlationId }) => correlationId)).size, many);
  });

  it('who delete one document: one gets 200, the rest 404', async () => {
    const id = await create({ code: 'deleted' });
    const race = () => atOnce(() => service.call('DELETE', `${path}/${id}`));
    const answers = await assertRecorded(service, race, [`document.deleted things/${id}`]);
    assert.deepEqual([count(answers, 200), count(answers, 404)], [1, 19]);
  });

  it('who change and delete one document: no change follows its deletion', async () => {
    const id = await create();
    const answers = await atOnce((index) =>
      index === 10 ? service.call('DELETE', `${path}/${id}`) : service.call('PATCH', `${path}/${id}`, { n: index }),
    );
    assert.equal(answers[10]?.status, 200);
    assert.equal(count(answers, 200) + count(answers, 404), many);
    const events = recordedEvents(service.data, `things/${id}`);
    assert.equal(events.at(-1)?.type, 'document.deleted');
    assert.equal(events.length, 1 + count(answers, 200));
    assert.equal((await service.call('GET', `${path}/${id}`)).status, 404);
  });

  it('who change different fields of a global before its first write: all changes survive', async () => {
    const answers = await atOnce((index) =>
      service.call('PATCH', '/api/globals/site', { [`field${index}`]: `${index}` }),
    );
    assert.equal(count(answers, 200), many);
    const { body } = await service.call('GET', '/api/globals/site');
    assert.deepEqual(
      names.map((name) => body[name]),
      names.map((_, index) => `${index}`),
    );
    assert.equal(new Set(answers.map(({ body: answer }) => answer.createdAt)).size, 1);
  });

  it('who swap a unique value away and take it: it is held by one document at every moment', async () => {
    const holder = await create({ code: 'swap' });
    const answers = await atOnce((index) =>
      index === 0
        ? service.call('PATCH', `${path}/${holder}`, { code: null })
        : service.call('POST', path, { code: 'swap' }),
    );
    assert.equal(answers[0]?.status, 200);
    assert.ok(count(answers, 201) <= 1);
    assert.equal(count(answers, 201) + count(answers, 409), 19);
    const { body } = await service.call('GET', `${path}?limit=100`);
    assert.equal(body.docs.filter(({ code }: { code: string }) => code === 'swap').length, count(answers, 201));
  });
});
