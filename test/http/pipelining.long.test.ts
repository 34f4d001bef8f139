import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { roundsOf } from '../helpers/rounds.ts';
import { apiKey, type Service } from '../helpers/service.ts';
import { dial, eventually, logLines, sendRaw, useService } from '../helpers/shared.ts';

const notes = '/api/collections/notes';
const config = `export default { collections: [
  { slug: 'notes', access: { read: () => true }, fields: [{ name: 'title', type: 'text' }, { name: 'body', type: 'text' }] },
] };`;
const service = useService(config, { ANNALS_THREADS: '2' });
const onLinux = { skip: process.platform !== 'linux' && 'memory and CPU are read from /proc' };
/** Lists that each connection asks for at once. */
const lists = roundsOf(3000, 1500);
const list = `GET ${notes}?limit=100 HTTP/1.1\r\nhost: x\r\n\r\n`;

function statusOf({ child }: Service): string {
  return readFileSync(`/proc/${child.pid}/status`, 'utf8');
}

function residentMegabytes(of: Service): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(statusOf(of))?.[1]) / 1024;
}

/** The CPU time of the process in seconds; the system counts hundredths. */
function cpuSeconds({ child }: Service): number {
  const [, , , , , , , , , , , user = 0, system = 0] = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .map(Number);
  return (user + system) / 100;
}

/** Makes a list of 100 documents, 50 kB; gives the id of one, and the bytes of the answer. */
async function fill(): Promise<{ id: string; bytes: number }> {
  const docs = Array.from({ length: 100 }, (_, index) => ({ title: `${index}`, body: 'x'.repeat(400) }));
  const { status, body } = await service.call('POST', `${notes}/bulk`, { docs });
  assert.equal(status, 201, JSON.stringify(body));
  const { text } = await sendRaw(service.url, list);
  assert.ok(text.length > 45_000 && text.length < 60_000, `a list has ${text.length} bytes`);
  return { id: body.results[0].id, bytes: Buffer.byteLength(text) };
}

/**
 * While something runs, reads a document over connections of their own; the seconds of CPU of the service in each, and
 * the most memory.
 */
async function readMeanwhile(id: string, isOver: () => boolean) {
  const before = residentMegabytes(service);
  const taken: number[] = [];
  let peak = before;
  while (!isOver()) {
    const begun = cpuSeconds(service);
    const { status } = await sendRaw(
      service.url,
      `GET ${notes}/${id} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
    );
    assert.equal(status, 200);
    taken.push(cpuSeconds(service) - begun);
    peak = Math.max(peak, residentMegabytes(service));
    await wait(10);
  }
  return { taken: taken.sort((a, b) => a - b), grown: peak - before };
}

function assertNoneReplaced(): void {
  assert.deepEqual(
    logLines(service).filter(({ level }) => level >= 50),
    [],
  );
}

describe('Connections that send thousands of reads ahead', onLinux, () => {
  it('get all answers, while others are served at once, no thread is replaced, and memory is bounded', async () => {
    const { id, bytes } = await fill();
    const sockets = Array.from({ length: 4 }, () => dial(service.url, list.repeat(lists)).resume());
    const isOver = () => sockets.every(({ closed, bytesRead }) => closed || bytesRead >= lists * bytes);
    const { taken, grown } = await readMeanwhile(id, isOver);
    assert.deepEqual(
      sockets.map(({ bytesRead }) => bytesRead),
      Array(4).fill(lists * bytes),
    );
    for (const socket of sockets) socket.destroy();
    const late = taken[Math.floor(taken.length * 0.99)] ?? 0;
    assert.ok(taken.length > 20 && late <= 1, `of ${taken.length} reads one of a hundred waited for ${late} s of CPU`);
    assert.ok(grown <= 150, `${grown} MB more`);
    assertNoneReplaced();
  });

  it('hold little that they do not read, and drop what they asked for when they go', async () => {
    const { id } = await fill();
    const sockets: Socket[] = Array.from({ length: 8 }, () => dial(service.url, list.repeat(lists)).pause());
    const end = performance.now() + 5000;
    const { grown } = await readMeanwhile(id, () => performance.now() > end);
    assert.ok(grown <= 250, `${grown} MB more`);
    const answered = () => logLines(service).filter(({ path }) => path === notes).length;
    for (const socket of sockets) socket.destroy();
    const before = answered();
    // Requests in hand end, and no other begins: each of these would take its turn among those lists.
    for (let count = 0; count < 50; count += 1) await service.call('GET', `${notes}/${id}`, undefined, { key: apiKey });
    await eventually(() => logLines(service).filter(({ path }) => path === `${notes}/${id}`).length >= 50);
    assert.ok(answered() - before <= 64, `${answered() - before} lists were made for a client that has gone`);
    assertNoneReplaced();
  });
});
