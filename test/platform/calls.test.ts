import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { DomainError } from '../../config/errors.ts';
import { answerCalls, callsThrough } from '../../server/platform/calls.ts';

type Desk = {
  add: (a: number, b: number) => Promise<number>;
  echo: (value: unknown) => Promise<unknown>;
  fail: (error: string) => Promise<never>;
  never: () => Promise<void>;
};

const refusal = new DomainError('validation_failed', 'email must be an e-mail address', [
  { field: 'email', in: 'body', code: 'format', message: 'is not one' },
]);
const errors: { [name: string]: unknown } = {
  refusal,
  late: Object.assign(new DomainError('unavailable', 'come again later'), { retryAfter: 30 }),
  bug: new TypeError('x is not a function'),
  text: 'only a text',
};

const desk: Desk = {
  add: async (a, b) => a + b,
  echo: async (value) => value,
  fail: async (name) => {
    throw errors[name];
  },
  never: () => new Promise(() => {}),
};

function connect(t: TestContext, functions: Desk = desk): { calls: Desk; near: MessagePort; far: MessagePort } {
  const { port1, port2 } = new MessageChannel();
  t.after(() => port1.close());
  answerCalls(port2, functions);
  return { calls: callsThrough<Desk>(port1), near: port1, far: port2 };
}

/** Runs a text as a thread that has `calls`, made through the port it is given. */
function startThread(t: TestContext, text: string): { worker: Worker; port: MessagePort } {
  const { port1, port2 } = new MessageChannel();
  const module = new URL('../../server/platform/calls.ts', import.meta.url).href;
  const worker = new Worker(
    `const { workerData: { port, module } } = require('node:worker_threads');
     import(module).then(async ({ callsThrough, answerCalls }) => { ${text} });`,
    { eval: true, workerData: { port: port1, module }, transferList: [port1] },
  );
  t.after(() => worker.terminate());
  return { worker, port: port2 };
}

describe('calling functions of another thread', () => {
  it('gives what they give, to each caller its own', async (t) => {
    const { calls } = connect(t);
    const sums = await Promise.all(Array.from({ length: 100 }, (_, index) => calls.add(index, 1)));
    assert.deepEqual(
      sums,
      Array.from({ length: 100 }, (_, index) => index + 1),
    );
    for (const value of [undefined, null, { a: [new Date(0)] }, new Set(['b'])]) {
      assert.deepEqual(await calls.echo(value), value);
    }
  });

  it('throws the refusal that they throw, with all it says', async (t) => {
    const { calls } = connect(t);
    const caught = await calls.fail('refusal').catch((error: unknown) => error);
    assert.ok(caught instanceof DomainError);
    assert.deepEqual(
      [caught.code, caught.message, caught.errors],
      [refusal.code, refusal.message, [{ field: 'email', in: 'body', code: 'format', message: 'is not one' }]],
    );
    assert.equal(caught.retryAfter, null);
    await assert.rejects(calls.fail('late'), { code: 'unavailable', message: 'come again later', retryAfter: 30 });
  });

  it('throws an error that is no refusal for a bug of theirs, which says where it was', async (t) => {
    const { calls } = connect(t);
    const caught = await calls.fail('bug').catch((error: Error) => error);
    assert.ok(caught instanceof Error && !(caught instanceof DomainError));
    assert.equal(caught.message, 'x is not a function');
    assert.match(String(caught.stack), /calls\.test\.ts/);
    await assert.rejects(calls.fail('text'), { message: 'only a text' });
  });

  it('throws for what cannot pass between threads, there and back, and goes on', async (t) => {
    const functions = { ...desk, echo: async (value: unknown) => (value === 'a function' ? () => {} : value) };
    const { calls } = connect(t, functions);
    await assert.rejects(
      calls.echo(() => {}),
      /could not be cloned/,
    );
    await assert.rejects(calls.echo('a function'), /could not be cloned/);
    assert.equal(await calls.add(1, 2), 3);
  });

  it('throws for a function that is not there', async (t) => {
    const { calls } = connect(t);
    const others = calls as unknown as { [name: string]: () => Promise<unknown> };
    for (const name of ['subtract', 'toString', '__proto__', 'constructor']) {
      await assert.rejects((others[name] as () => Promise<unknown>)(), /there is no function/, name);
    }
  });

  it('can be returned from an async function, as any object', async (t) => {
    const { calls } = connect(t);
    assert.equal(await (await (async () => calls)()).add(1, 2), 3);
  });

  it('throws when the port closes, for what waits and for what comes then', async (t) => {
    const { calls, far } = connect(t);
    const waiting = assert.rejects(calls.never(), /ended/);
    assert.equal(await calls.add(1, 2), 3);
    far.close();
    await waiting;
    await assert.rejects(calls.add(1, 2), /ended/);
  });

  it('throws when the thread that answers ends', async (t) => {
    const { worker, port } = startThread(
      t,
      `answerCalls(port, { never: () => new Promise(() => setInterval(() => {}, 1000)), add: async (a, b) => a + b });
      setInterval(() => {}, 1000);`,
    );
    const calls = callsThrough<Desk>(port);
    const waiting = assert.rejects(calls.never(), /ended/);
    assert.equal(await calls.add(1, 2), 3);
    await worker.terminate();
    await waiting;
  });

  it('lets a thread end that has no answer due, and not one that has', async (t) => {
    const { worker, port } = startThread(
      t,
      'const sum = await callsThrough(port).add(1, 2); require("node:worker_threads").parentPort.postMessage(sum);',
    );
    const slow = {
      ...desk,
      add: async (a: number, b: number) => new Promise<number>((resolve) => setTimeout(() => resolve(a + b), 50)),
    };
    answerCalls(port, slow);
    const sums: number[] = [];
    worker.on('message', (sum) => sums.push(sum));
    const [code] = await once(worker, 'exit');
    assert.deepEqual([code, sums], [0, [3]]);
  });
});
