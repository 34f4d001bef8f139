import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { IncomingMessage, Server as Listener } from 'node:http';
import { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { admitWrites, isShed, queuedMilliseconds } from '../../server/http/write-admission.ts';
import { mostWaiting } from '../../server/writer/waiting.ts';
import { eventually } from '../helpers/shared.ts';

/** A listener whose requests are made up: which have begun, in which order, and which of them are to be refused. */
function opened(isCrowded: (ahead: number) => boolean = () => false, isExempt = (_request: IncomingMessage) => false) {
  const listener = new EventEmitter();
  const begun: string[] = [];
  const stood: number[] = [];
  const shed: string[] = [];
  for (const event of ['request', 'checkContinue']) {
    listener.on(event, (request) => {
      begun.push(request.name);
      stood.push(queuedMilliseconds(request));
      if (isShed(request)) shed.push(request.name);
    });
  }
  const beginAll = admitWrites(listener as Listener, isCrowded, isExempt);
  const come = (method: string, name: string, response = { destroyed: false }, event = 'request') =>
    listener.emit(event, { method, name }, response);
  /** Over a connection: an answer, which is over when `close` is emitted, and what it was told about the connection. */
  const sendOver = (socket: Socket, method: string, name: string) => {
    const headers: string[] = [];
    const setHeader = (key: string, value: string) => headers.push(`${key}: ${value}`);
    const response = Object.assign(new EventEmitter(), { destroyed: false, headers, setHeader });
    listener.emit('request', { method, name, socket, httpVersionMajor: 1 }, response);
    return response;
  };
  return { come, sendOver, begun, shed, stood, beginAll };
}

const turn = () => new Promise(setImmediate);
/** Until it is known when the event loop turned: a read finds out, and begins then. */
async function looked(come: ReturnType<typeof opened>['come']) {
  come('GET', 'first');
  await turn();
}
const named = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `${from + index}`);

describe('Writes that come together', () => {
  it('begin a few in each turn, in their order, and what only reads begins at once', async (t) => {
    const { come, begun } = opened();
    t.mock.method(performance, 'now', () => 1_000_000);
    await looked(come);
    begun.length = 0;
    for (const name of named(50))
      come(name === '7' ? 'DELETE' : 'POST', name, undefined, name === '9' ? 'checkContinue' : 'request');
    for (const method of ['GET', 'HEAD', 'OPTIONS']) come(method, method);
    const first = begun.indexOf('GET');
    assert.ok(first >= 1 && first <= 8, `${first} writes came before`);
    assert.deepEqual(begun, [...named(first), 'GET', 'HEAD', 'OPTIONS']);
    await turn();
    const second = begun.length - 3 - first;
    assert.ok(second >= 1 && second <= 8, `${second} writes in a turn`);
    // A write that comes later does not go before those in the queue.
    come('POST', '50');
    for (let turns = 0; turns < 60; turns += 1) await turn();
    assert.deepEqual(
      begun.filter((name) => /^\d/.test(name)),
      named(51),
    );
    come('PATCH', '51');
    assert.equal(begun.at(-1), '51');
  });

  it('do not begin for clients that have gone, and all begin when the service ends', async () => {
    const { come, begun, beginAll } = opened();
    const gone = { destroyed: false };
    for (const name of named(40)) come('POST', name, name === '30' ? gone : undefined);
    gone.destroyed = true;
    await turn();
    beginAll();
    assert.deepEqual(
      begun,
      named(40).filter((name) => name !== '30'),
    );
  });

  it('are refused if too many wait, not all at once, and no one behind them waits for that', async () => {
    let isCrowded = true;
    const { come, begun, shed } = opened(() => isCrowded);
    for (const name of named(200)) come('POST', name);
    await turn();
    await turn();
    assert.ok(begun.length > 0 && begun.length < 100, `${begun.length} were refused at once`);
    assert.deepEqual(shed, begun);
    isCrowded = false;
    come('POST', 'later');
    await turn();
    assert.ok(begun.includes('later') && !shed.includes('later'));
    await eventually(() => shed.length === 200);
    assert.deepEqual(shed, named(200));
  });

  it('are refused behind more than can be answered in time, and those before them are accepted', async () => {
    const { come, begun, shed } = opened((ahead) => ahead > 50);
    for (const name of named(100)) come('POST', name);
    const late = [...shed];
    assert.ok(late.length > 10 && late.every((name) => Number(name) > 50), `${late}`);
    await eventually(() => begun.length === 100);
    assert.deepEqual([...begun].sort(), named(100).sort());
    assert.deepEqual(shed, named(shed.length, 100 - shed.length));
  });

  it('of one connection begin when the one before was answered, and those of others meanwhile', async (t) => {
    const now = t.mock.method(performance, 'now');
    let at = 0;
    now.mock.mockImplementation(() => at);
    const { come, sendOver, begun, stood } = opened();
    const socket = new Socket();
    const [first, second] = named(4).map((name) => sendOver(socket, 'POST', name));
    for (let turns = 0; turns < 5; turns += 1) await turn();
    come('POST', 'other');
    assert.deepEqual(begun, ['0', 'other']);
    at = 250;
    first?.emit('close');
    await turn();
    assert.deepEqual([begun.at(-1), stood.at(-1)], ['1', 250]);
    // A client that has gone is not served any more.
    socket.destroy();
    second?.emit('close');
    await turn();
    assert.equal(begun.length, 3);
  });

  it('are refused at once if too many wait for that, and lose their connection then', async () => {
    const { sendOver, begun, shed } = opened(() => true);
    const answers = named(mostWaiting.commands + 100).map((name) => sendOver(new Socket(), 'POST', name));
    await turn();
    await turn();
    assert.ok(begun.length >= 100 && begun.length < 200, `${begun.length} were refused`);
    assert.deepEqual(shed, begun);
    const ended = answers.filter(({ headers }) => headers.includes('connection: close'));
    assert.ok(ended.length >= 80, `${ended.length} connections are to end`);
  });

  it('are not refused if they pass whatever waits, nor wait for those that are', async () => {
    const { come, begun, shed } = opened(
      () => true,
      ({ method }) => method === 'PATCH',
    );
    for (const name of named(200)) come('POST', name);
    come('PATCH', 'needed');
    await turn();
    await turn();
    assert.ok(begun.includes('needed') && begun.length < 100, `${begun.length} came before`);
    assert.ok(!shed.includes('needed'));
  });

  it('are refused if they have stood for long in a long line, and taken in a short one', async (t) => {
    const now = t.mock.method(performance, 'now');
    let at = 0;
    now.mock.mockImplementation(() => at);
    const { come, begun, shed } = opened();
    for (const name of named(mostWaiting.few + 40)) come('POST', name);
    at += mostWaiting.milliseconds + 1;
    for (let turns = 0; turns < 60; turns += 1) await turn();
    await eventually(() => begun.length === mostWaiting.few + 40);
    const late = shed.map(Number);
    assert.ok(late.length > 0 && late.every((name) => name > mostWaiting.few), `${late}`);
  });

  it('are not late for what the one before on their connection has taken', async (t) => {
    const now = t.mock.method(performance, 'now');
    let at = 0;
    now.mock.mockImplementation(() => at);
    const { come, sendOver, begun, shed, stood } = opened();
    const socket = new Socket();
    const first = sendOver(socket, 'POST', 'first');
    sendOver(socket, 'POST', 'second');
    at += mostWaiting.milliseconds + 1;
    for (const name of named(mostWaiting.few + 40)) come('POST', name);
    first.emit('close');
    at += 10;
    for (let turns = 0; turns < 60; turns += 1) await turn();
    assert.deepEqual([begun.length, shed], [mostWaiting.few + 42, []]);
    assert.equal(stood[begun.indexOf('second')], at, 'its line in the log tells of all of it');
  });
});

describe('Requests that are sent ahead over a connection', () => {
  it('begin one by one, reads and writes in their order, each when the one before was over', async () => {
    const { sendOver, begun } = opened();
    const socket = new Socket();
    const methods = ['GET', 'POST', 'GET', 'HEAD', 'DELETE', 'GET'];
    const answers = methods.map((method, index) => sendOver(socket, method, `${index}`));
    for (const [index, answer] of answers.entries()) {
      for (let turns = 0; turns < 3; turns += 1) await turn();
      assert.deepEqual(begun, named(index + 1));
      answer.emit('close');
    }
    // The connection is free again.
    sendOver(socket, 'GET', 'later');
    await turn();
    assert.equal(begun.at(-1), 'later');
  });

  it('do not begin if the connection has ended, and leave room for others', async () => {
    const { sendOver, begun } = opened();
    for (let round = 0; round < 3; round += 1) {
      const socket = new Socket();
      const [first] = named(10_000).map((name) => sendOver(socket, 'GET', name));
      assert.equal(socket.destroyed, false);
      await turn();
      socket.destroy();
      first?.emit('close');
      await turn();
    }
    assert.deepEqual(begun, ['0', '0', '0']);
  });

  it('end their connection if all that are ahead are too many', async () => {
    const { sendOver, begun } = opened();
    const sockets = [new Socket(), new Socket(), new Socket()];
    const firsts = sockets.map((socket) => named(7_000).map((name) => sendOver(socket, 'GET', name))[0]);
    assert.deepEqual(
      sockets.map(({ destroyed }) => destroyed),
      [false, false, true],
    );
    await turn();
    for (const socket of sockets) socket.destroy();
    for (const first of firsts) first?.emit('close');
    await turn();
    assert.deepEqual(begun, ['0', '0', '0']);
  });
});

describe('Reads that come together', () => {
  it('begin for 50 ms, and the rest in their order when the event loop has turned', async (t) => {
    const { come, begun } = opened();
    let at = 2_000_000;
    t.mock.method(performance, 'now', () => at);
    await looked(come);
    begun.length = 0;
    // Each write is 20 ms of work.
    const work = (name: string) => {
      come('GET', name);
      at += 20;
    };
    for (const name of named(5)) work(name);
    assert.deepEqual(begun, named(3));
    await turn();
    assert.deepEqual(begun, named(5));
  });
});
