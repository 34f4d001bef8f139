import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type Form, openForm } from '../../admin/src/pages/document/form/store.ts';
import { unparsed, type Values } from '../../admin/src/pages/document/form/values.ts';
import { openSaver } from '../../admin/src/pages/document/save/saver.ts';
import { openAutosave, type UnsavedChanges } from '../../admin/src/pages/document/unsaved-changes/autosave.ts';
import { newestFirst } from '../../admin/src/pages/document/unsaved-changes/newest.ts';
import type { Field } from '../../admin/src/schema/fields.ts';
import type { LocalChanges } from '../../admin/src/service/local-changes.ts';
import { ApiError } from '../../client/errors.ts';

const fields: Field[] = [
  { name: 'title', type: 'text' },
  { name: 'lead', type: 'text' },
  { name: 'data', type: 'json' },
  { name: 'items', type: 'array', fields: [{ name: 'name', type: 'text' }] },
];
const base = { title: 'a', lead: 'b', data: null, items: [{ name: 'x' }] };

type Sent = { body: Values; ifMatch?: string; idempotencyKey: string; reason?: string };

/** A saver whose service answers when it is told to. */
function saverOf(form: Form, { isNew = false, focused = () => null as string | null } = {}) {
  const sent: Sent[] = [];
  const waiting: { resolve: (document: Values) => void; reject: (error: unknown) => void }[] = [];
  let keys = 0;
  const saver = openSaver({
    form,
    isNew,
    etag: isNew ? undefined : '"1-x"',
    write: (body, options) => {
      sent.push({ body, ...options });
      return new Promise((resolve, reject) => {
        waiting.push({
          resolve: (document) => resolve({ document, etag: `"${sent.length + 1}-x"` }),
          reject,
        });
      });
    },
    focused,
    newKey: () => `key-${++keys}`,
    onState: () => undefined,
  });
  const answer = (document: Values) => waiting.shift()?.resolve(document);
  const refuse = (status: number) => waiting.shift()?.reject(new ApiError('no', { status, error: 'x' }));
  return { saver, sent, answer, refuse };
}

describe('a save', () => {
  it('sends what has changed, for the version that was read', async () => {
    const form = openForm(fields, base);
    const { saver, sent, answer } = saverOf(form);
    form.set('items.0.name', 'y');
    const saved = saver.save('because');
    answer({ ...base, items: [{ name: 'y' }] });
    assert.equal((await saved)?.kind, 'saved');
    assert.deepEqual(sent, [
      { body: { items: [{ name: 'y' }] }, ifMatch: '"1-x"', idempotencyKey: 'key-1', reason: 'because' },
    ]);
    assert.ok(!form.isChanged());
    assert.equal(saver.etag(), '"2-x"');
  });

  it('of nothing sends nothing', async () => {
    const { saver, sent } = saverOf(openForm(fields, base));
    assert.deepEqual(await saver.save(), { kind: 'nothing' });
    assert.deepEqual(sent, []);
  });

  it('waits for the one before it, and sends then what was typed meanwhile', async () => {
    const form = openForm(fields, base);
    const { saver, sent, answer } = saverOf(form);
    form.set('title', 'one');
    const first = saver.save();
    form.set('title', 'two');
    assert.equal(saver.save(), null);
    form.set('lead', 'more');
    assert.equal(sent.length, 1);
    answer({ ...base, title: 'one' });
    await new Promise(setImmediate);
    assert.equal(sent.length, 2);
    assert.deepEqual(sent[1]?.body, { title: 'two', lead: 'more' });
    assert.equal(sent[1]?.ifMatch, '"2-x"');
    answer({ ...base, title: 'two', lead: 'more' });
    assert.equal((await first)?.kind, 'saved');
    assert.ok(!form.isChanged());
  });

  it('whose answer comes late changes no field that was typed in since', async () => {
    const form = openForm(fields, base);
    const { saver, answer } = saverOf(form);
    form.set('title', 'one');
    const saved = saver.save();
    form.set('title', 'one and');
    answer({ ...base, title: 'ONE', lead: 'made by a hook' });
    await saved;
    assert.equal(form.get('title'), 'one and');
    assert.equal(form.get('lead'), 'made by a hook');
    assert.equal(form.epochOf('title'), 0);
    assert.equal(form.epochOf('lead'), 1);
    assert.deepEqual(form.changedNames(), ['title']);
  });

  it('lets the field that has the focus be until it is left', async () => {
    const form = openForm(fields, base);
    const { saver, answer } = saverOf(form, { focused: () => 'title' });
    form.set('title', 'one');
    const saved = saver.save();
    answer({ ...base, title: 'ONE' });
    await saved;
    assert.equal(form.get('title'), 'one');
    assert.ok(!form.isChanged());
    form.leave('title');
    assert.equal(form.get('title'), 'ONE');
    assert.ok(!form.isChanged());
  });

  it('whose answer did not come is sent again under the same key; another one has its own', async () => {
    const form = openForm(fields, base);
    const { saver, sent, refuse } = saverOf(form);
    form.set('title', 'one');
    for (const status of [0, 503]) {
      const saved = saver.save();
      refuse(status);
      assert.equal((await saved)?.kind, 'failed');
    }
    form.set('title', 'two');
    const other = saver.save();
    refuse(400);
    await other;
    const again = saver.save();
    refuse(400);
    await again;
    assert.deepEqual(
      sent.map(({ idempotencyKey }) => idempotencyKey),
      ['key-1', 'key-1', 'key-2', 'key-3'],
    );
    assert.equal(form.get('title'), 'two');
  });

  it('of a new document creates it, and only then changes it', async () => {
    const form = openForm(fields, { title: null, lead: null, data: null, items: [] });
    const { saver, sent, answer } = saverOf(form, { isNew: true });
    form.set('title', 'one');
    const created = saver.save();
    answer({ id: '1', title: 'one', lead: null, data: null, items: [] });
    const outcome = await created;
    assert.ok(outcome?.kind === 'saved' && outcome.isNew);
    form.set('lead', 'two');
    const changed = saver.save();
    answer({ id: '1', title: 'one', lead: 'two', data: null, items: [] });
    await changed;
    assert.deepEqual(
      sent.map(({ body, ifMatch }) => [body, ifMatch]),
      [
        [{ title: 'one' }, undefined],
        [{ lead: 'two' }, '"2-x"'],
      ],
    );
  });

  it('does not send what a control could not read', async () => {
    const form = openForm(fields, base);
    const { saver, sent } = saverOf(form);
    form.set('data', unparsed('{"a":'));
    assert.equal((await saver.save())?.kind, 'unfinished');
    form.set('data', null);
    form.set('title', 'x');
    form.setLocalProblem('data', 'no JSON');
    assert.equal((await saver.save())?.kind, 'unfinished');
    assert.deepEqual(sent, []);
  });
});

describe('the problems of a form', () => {
  it('stand at their paths until something is typed there', () => {
    const form = openForm(fields, base);
    form.refuse([
      { field: 'title', message: 'no' },
      { field: 'items.0.name', message: 'no' },
    ]);
    assert.equal(form.problemAt('title'), 'no');
    assert.ok(form.hasProblemIn('items') && form.hasProblemIn('items.0') && !form.hasProblemIn('item'));
    form.set('items.0.name', 'z');
    assert.ok(!form.hasProblemIn('items'));
    assert.ok(form.hasProblemIn('title'));
    form.clearProblemsIn('title');
    assert.equal(form.problems().size, 0);
  });
});

/** Places that remember what they were told. */
function placesOf() {
  const calls: string[] = [];
  const failing = new Set<string>();
  const call = async (name: string, data?: unknown) => {
    calls.push(data === undefined ? name : `${name} ${JSON.stringify(data)}`);
    if (failing.has(name)) throw new Error('no');
  };
  return {
    calls,
    failing,
    places: {
      here: {
        keep: (changes: UnsavedChanges, at: string | null) => call('here', { ...changes.data, at }),
        drop: () => call('drop here'),
      },
      service: {
        keep: async (changes: UnsavedChanges) => {
          await call('service', changes.data);
          return 'T';
        },
        drop: () => call('drop at service'),
      },
    },
  };
}

function keeperOf(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const form = openForm(fields, base);
  const kept = placesOf();
  const autosave = openAutosave(form, () => 1, kept.places);
  const pause = async () => {
    t.mock.timers.tick(600);
    await autosave.flush();
  };
  return { form, autosave, pause, ...kept };
}

describe('a draft', () => {
  it('is kept at each pause, on the device and at the service', async (t) => {
    const { form, autosave, pause, calls } = keeperOf(t);
    form.set('title', 'o');
    t.mock.timers.tick(500);
    form.set('title', 'on');
    t.mock.timers.tick(500);
    assert.deepEqual(calls, []);
    assert.equal(autosave.state(), 'waiting');
    await pause();
    assert.deepEqual(calls, [
      'here {"title":"on","at":null}',
      'service {"title":"on"}',
      'here {"title":"on","at":"T"}',
    ]);
    assert.equal(autosave.state(), 'service');
  });

  it('that the service does not take is kept on the device only', async (t) => {
    const { form, autosave, pause, failing } = keeperOf(t);
    failing.add('service');
    form.set('title', 'on');
    await pause();
    assert.equal(autosave.state(), 'here');
    failing.add('here');
    form.set('title', 'one');
    await pause();
    assert.equal(autosave.state(), 'failed');
  });

  it('is dropped in both places when it is saved, or given up', async (t) => {
    const { form, autosave, pause, calls } = keeperOf(t);
    form.set('title', 'on');
    await pause();
    calls.length = 0;
    form.rebase({ ...base, title: 'on' });
    await autosave.settle();
    assert.deepEqual(calls, ['drop here', 'drop at service']);
    assert.equal(autosave.state(), 'none');
  });

  it('is not kept of a form that is as it was', async (t) => {
    const { form, autosave, pause, calls } = keeperOf(t);
    form.set('title', 'on');
    form.set('title', 'a');
    await pause();
    assert.deepEqual(calls, []);
    assert.equal(autosave.state(), 'none');
  });

  it('is not kept of what a form began with', async (t) => {
    const { form, autosave, pause, calls } = keeperOf(t);
    form.set('title', 'prefilled');
    form.begin();
    await pause();
    assert.ok(form.isChanged() && !form.isTyped());
    assert.deepEqual(calls, []);
    assert.equal(autosave.state(), 'none');
    form.set('lead', 'typed');
    await pause();
    assert.ok(form.isTyped());
    assert.equal(calls[0], 'here {"title":"prefilled","lead":"typed","at":null}');
    form.saved({ ...base, title: 'b', lead: 'typed' }, form.values(), null);
    form.set('title', 'prefilled');
    assert.ok(form.isTyped());
  });
});

describe('the drafts of a document', () => {
  const here = (form: string, updatedAt: string, atService: string | null): LocalChanges => ({
    account: 'a/1',
    target: 'posts/1',
    form,
    data: { title: form },
    base: { title: 'a' },
    version: 1,
    updatedAt,
    atService,
  });
  const service = { collection: 'posts', id: '1', title: '', version: 1, updatedAt: '5', data: { title: 'service' } };
  const titles = (drafts: ReturnType<typeof newestFirst>) => drafts.map(({ data }) => data.title);

  it('are those of each form, the newest first, and that of the service', () => {
    assert.deepEqual(newestFirst([], undefined, undefined), []);
    assert.deepEqual(titles(newestFirst([here('a', '1', null), here('b', '7', null)], service, '"1"')), [
      'b',
      'service',
      'a',
    ]);
  });

  it('of a form that knows of that of the service are one, and only that one has its tag', () => {
    const drafts = newestFirst([here('a', '4', '5'), here('b', '3', '2')], service, '"1"');
    assert.deepEqual(titles(drafts), ['a', 'b']);
    assert.deepEqual(
      drafts.map(({ etag, atService }) => [etag, atService]),
      [
        ['"1"', '5'],
        [undefined, null],
      ],
    );
  });
});
