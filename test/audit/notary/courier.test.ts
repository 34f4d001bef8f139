import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import type { KeptCheckpoint } from '../../../events/proof/checkpoints.ts';
import { ask, post } from '../../../server/audit/notary/asking.ts';
import { createCourier } from '../../../server/audit/notary/courier.ts';
import { createLog } from '../../../server/platform/logging.ts';

const milliseconds = { rest: 1, shortest: 1, longest: 4, patience: 50 };

/** A courier, with the sizes that it has sent and its log lines; `state.size` is the newest one. */
function start(send: (size: number) => Promise<void>, options: { left?: number; rest?: number } = {}) {
  const lines: string[] = [];
  const marked: number[] = [];
  const state = { size: 0 };
  const courier = createCourier({
    what: 'brought',
    newest: () =>
      state.size > (marked.at(-1) ?? 0) ? ({ size: state.size, note: `note ${state.size}` } as KeptCheckpoint) : null,
    send: ({ size }) => send(size),
    mark: async ({ size }) => {
      marked.push(size);
    },
    log: createLog('info', { write: (line) => lines.push(JSON.parse(line).msg) }),
    ...(options.left !== undefined && { left: options.left }),
    milliseconds: { ...milliseconds, ...(options.rest !== undefined && { rest: options.rest }) },
  });
  const put = (size: number) => {
    state.size = size;
    courier.wake();
  };
  return { courier, lines, marked, put };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

describe('a courier', () => {
  it('brings the newest until that works, says so once, and never an older one', async () => {
    const tried: number[] = [];
    let isBroken = true;
    const { courier, lines, marked, put } = start(async (size) => {
      tried.push(size);
      if (isBroken) throw new Error('it is broken');
    });
    put(1);
    await until(() => tried.length >= 3);
    put(7);
    await until(() => tried.includes(7));
    isBroken = false;
    await until(() => marked.length > 0);
    put(9);
    await until(() => marked.length > 1);
    assert.deepEqual(marked, [7, 9]);
    assert.equal(tried.indexOf(7) > tried.lastIndexOf(1), true);
    await until(() => lines.length === 2);
    assert.deepEqual(lines, [
      'checkpoints cannot be brought: it is broken; it is tried again and again',
      'checkpoints are brought again',
    ]);
    await courier.close();
  });

  it('brings the last at the end, and does not wait for who does not answer', async () => {
    const sent: number[] = [];
    const quick = start(async (size) => {
      sent.push(size);
    });
    quick.put(1);
    await quick.courier.close();
    assert.deepEqual(quick.marked, [1]);
    assert.deepEqual(sent, [1]);
    const silent = start(() => new Promise(() => {}));
    silent.put(1);
    await silent.courier.close();
    assert.deepEqual(silent.marked, []);
    silent.put(2);
    assert.deepEqual(silent.marked, []);
  });

  it('with a limited rate waits at the start for the rest, and asks nothing earlier at the end', async () => {
    const hour = 3_600_000;
    const early = start(async () => {}, { left: hour, rest: hour });
    early.put(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await early.courier.close();
    assert.deepEqual(early.marked, []);
    const { courier, marked, put } = start(async () => {}, { left: 20, rest: hour });
    put(1);
    put(2);
    assert.deepEqual(marked, []);
    await until(() => marked.length > 0);
    put(3);
    await courier.close();
    assert.deepEqual(marked, [2]);
    const rested = start(async () => {}, { left: 0, rest: 0 });
    rested.put(1);
    await until(() => rested.marked.length > 0);
    rested.put(2);
    await rested.courier.close();
    assert.deepEqual(rested.marked, [1, 2]);
  });
});

const { signal } = new AbortController();

async function receive(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the webhook', () => {
  it('gets the note as text, with the credentials of its URL', async (t) => {
    const requests: { request: IncomingMessage; body: string }[] = [];
    const address = await receive(t, async (request, response) => {
      requests.push({ request, body: (await request.toArray()).join('') });
      response.writeHead(204).end();
    });
    const url = `http://an%40ne:s%3Acret@${address}/hook?token=t`;
    await post({ url, allowPrivate: true }, 'the note\n', signal);
    const [{ request, body } = assert.fail('nothing came')] = requests;
    assert.deepEqual([request.method, request.url, body], ['POST', '/hook?token=t', 'the note\n']);
    assert.equal(request.headers['content-type'], 'text/plain; charset=utf-8');
    assert.equal(request.headers.authorization, `Basic ${Buffer.from('an@ne:s:cret').toString('base64')}`);
  });

  it('is not followed elsewhere, and what went wrong is said without the URL', async (t) => {
    let followed = 0;
    const other = await receive(t, (_, response) => {
      followed += 1;
      response.end();
    });
    const address = await receive(t, (request, response) => {
      if (request.url?.startsWith('/moved')) response.writeHead(307, { location: `http://${other}/` }).end();
      else if (request.url?.startsWith('/fails')) response.writeHead(500).end('secret');
      else response.destroy();
    });
    const cases: [string, RegExp][] = [
      ['moved', /^it answered 307$/],
      ['fails', /^it answered 500$/],
      ['gone', /^it did not answer \(ECONNRESET\)$/],
    ];
    for (const [path, message] of cases) {
      const url = `http://u:secret@${address}/${path}?secret`;
      await assert.rejects(post({ url, allowPrivate: true }, 'x\n', signal), { message });
    }
    const closed = { url: 'http://127.0.0.1:1/secret', allowPrivate: true };
    await assert.rejects(post(closed, 'x\n', signal), (error: Error) => {
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
    assert.equal(followed, 0);
  });

  it('is not asked at an address that is not public, unless that is allowed', async (t) => {
    let asked = 0;
    const address = await receive(t, (_, response) => {
      asked += 1;
      response.end();
    });
    const [, port] = address.split(':');
    for (const host of ['127.0.0.1', 'localhost', '0.0.0.0', '[::ffff:127.0.0.1]']) {
      const receiver = { url: `http://${host}:${port}/secret`, allowPrivate: false };
      await assert.rejects(post(receiver, 'x\n', signal), { message: 'its address is not a public one' });
    }
    assert.equal(asked, 0);
  });
});

describe('a question to a witness or an authority', () => {
  const question = { type: 'text/x.question', body: 'what?' };
  const here = (address: string) => ({ url: `http://an%40ne:s%3Acret@${address}/secret`, allowPrivate: true });

  it('carries its type, its length and the credentials of the address, and has the answer with its type', async (t) => {
    const came: unknown[] = [];
    const address = await receive(t, async (request, response) => {
      const { authorization, 'content-type': type, 'content-length': length } = request.headers;
      came.push([request.method, request.url, authorization, type, length, (await request.toArray()).join('')]);
      response.writeHead(409, { 'content-type': 'Text/X.Answer; charset=utf-8' }).end('that');
    });
    const { status, type, body } = await ask(here(address), question, signal);
    assert.deepEqual([status, type, body.toString()], [409, 'text/x.answer', 'that']);
    const basic = `Basic ${Buffer.from('an@ne:s:cret').toString('base64')}`;
    assert.deepEqual(came, [['POST', '/secret', basic, 'text/x.question', '5', 'what?']]);
  });

  it('is not sent to a private address unless that is allowed, and follows no redirect to one', async (t) => {
    let asked = 0;
    const address = await receive(t, (_, response) => {
      asked += 1;
      response.end();
    });
    const [, port] = address.split(':');
    for (const host of ['127.0.0.1', 'localhost', '0.0.0.0', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '127.1']) {
      const receiver = { url: `http://${host}:${port}/secret`, allowPrivate: false };
      await assert.rejects(ask(receiver, question, signal), { message: 'its address is not a public one' });
    }
    const moving = await receive(t, (_, response) => {
      response.writeHead(307, { location: `http://${address}/` }).end();
    });
    assert.equal((await ask(here(moving), question, signal)).status, 307);
    assert.equal(asked, 0);
  });

  it('has an end: in bytes, in time, and when the answer breaks off; nothing of the address is said', async (t) => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    const cases: [RequestListener, RegExp][] = [
      [(_, response) => response.end('x'.repeat(64 * 1024 + 1)), /^its answer has more than 65536 bytes$/],
      [(_, response) => response.flushHeaders(), /^it did not answer within 10 s$/],
      [() => {}, /^it did not answer within 10 s$/],
      [(_, response) => response.destroy(), /^it did not answer \(ECONNRESET\)$/],
      [
        (_, response) => {
          response.writeHead(200, { 'content-length': 9 });
          response.write('x', () => response.destroy());
        },
        /^it did not answer \(ECONNRESET\)$/,
      ],
    ];
    for (const [answer, message] of cases) {
      const address = await receive(t, (request, response) => {
        t.after(() => response.destroy());
        answer(request, response);
      });
      const isLate = message.source.includes('within');
      // A hundredth of the time that there is.
      const mocked = isLate && t.mock.method(AbortSignal, 'timeout', (time: number) => timeout(time / 100));
      await assert.rejects(ask(here(address), question, signal), { message });
      if (mocked) mocked.mock.restore();
    }
    const most = await receive(t, (_, response) => response.end('x'.repeat(64 * 1024)));
    assert.equal((await ask(here(most), question, signal)).body.length, 64 * 1024);
  });
});
