import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { callOrDoAlone } from '../../cli/operator-connection.ts';
import type { Settings } from '../../server/settings/settings.ts';
import { lockDirectory } from '../../storage/lock.ts';
import { runHere } from '../helpers/in-process.ts';
import { writeConfig } from '../helpers/service.ts';
import { recordedEvents, useFolder } from '../helpers/shared.ts';

const config = {
  bcryptCost: 4,
  collections: [
    { slug: 'users', auth: true, fields: [] },
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }] },
  ],
};
const folder = useFolder();
const configFile = writeConfig(folder, config);
const data = join(folder, 'data');
const saved = join(folder, 'all.zip');

const annals = (command: string) =>
  runHere([...command.split(' '), '--config', configFile, '--data', data], { input: 'correct horse battery\n' });
const usersMade = () =>
  recordedEvents(data).filter(({ stream, type }) => /^users\//.test(stream) && /created$/.test(type));

/** The handler of a process for a connection. It has the directory until `leave` is called. */
type Ending = (socket: Socket, leave: () => void) => void;

/** Holds the directory as a service does that is about to end. Returns the requests that it got, by connection. */
async function holder(t: TestContext, end: Ending): Promise<string[]> {
  const sent: string[] = [];
  const lock = lockDirectory(data, 'annals serve');
  let isHeld = true;
  const leave = () => {
    if (isHeld) lock.release();
    isHeld = false;
  };
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const at = sent.push('') - 1;
    socket.on('error', () => {}).on('data', (chunk) => sent.splice(at, 1, `${sent[at]}${chunk}`));
    end(socket, leave);
  });
  await new Promise<void>((go) => server.listen(0, '127.0.0.1', go));
  t.after(() => {
    leave();
    server.close();
  });
  lock.describe(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
  return sent;
}

/** Runs something when the head of a request is there, and again when its body is. */
function whenAsked(socket: Socket, asked: (body: string) => void): void {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
    const [, body] = text.split('\r\n\r\n');
    if (body !== undefined) asked(body);
  });
}

const endings: Record<string, Ending> = {
  'closes the connection before it reads anything': (socket, leave) => {
    leave();
    socket.end();
  },
  'cuts the connection off before it reads anything': (socket, leave) => {
    leave();
    socket.resetAndDestroy();
  },
  'has read who calls, and cuts the connection off': (socket, leave) =>
    whenAsked(socket, () => {
      leave();
      socket.resetAndDestroy();
    }),
  'has said that it ends by closing its side, and reads on': (socket, leave) => {
    socket.end();
    whenAsked(socket, leave);
  },
};

describe('A command that calls a process while that ends', () => {
  before(async () => assert.equal((await annals('create-user users --email first@example.org')).code, 0));

  for (const [index, [what, ending]] of Object.entries(endings).entries()) {
    it(`does it alone, and once, when that ${what}`, async (t) => {
      const made = usersMade().length;
      const sent = await holder(t, ending);
      const { code, stderr } = await annals(`create-user users --email ending${index}@example.org`);
      assert.deepEqual([code, stderr], [0, '']);
      assert.equal(sent.length, 1);
      // The command sent no request, so it cannot have ended anything.
      assert.doesNotMatch(sent.join(''), /ending/);
      assert.equal(usersMade().length, made + 1);
    });
  }

  it('is told that it may have been done, and does not try again, when that had all of it', async (t) => {
    const made = usersMade().length;
    const sent = await holder(t, (socket, leave) => {
      whenAsked(socket, (body) => {
        if (body === '') socket.write('HTTP/1.1 100 Continue\r\n\r\n');
        else {
          leave();
          socket.destroy();
        }
      });
    });
    const { code, stderr } = await annals('create-user users --email perhaps@example.org');
    assert.equal(code, 2);
    assert.match(stderr, /^http:\/\/127.0.0.1:\d+ did not answer, and may have done what was asked: /);
    assert.equal(sent.length, 1);
    assert.match(sent[0] ?? '', /\r\n\r\n\{.*"email":"perhaps@example.org"/);
    assert.equal(usersMade().length, made);
  });

  it('saves an export alone when nothing of one had come', async (t) => {
    const sent = await holder(t, (socket, leave) =>
      whenAsked(socket, () => {
        leave();
        socket.resetAndDestroy();
      }),
    );
    const { code, stdout } = await annals(`export --out ${saved} --force`);
    assert.equal(code, 0);
    assert.match(stdout, /^saved \d+ events/);
    assert.equal(sent.length, 1);
  });

  it('saves nothing of an export of which a part had come', async (t) => {
    const before = readdirSync(folder);
    const sent = await holder(t, (socket) =>
      whenAsked(socket, () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nPK');
        setTimeout(() => socket.resetAndDestroy(), 50);
      }),
    );
    const { code, stderr } = await annals(`export --out ${join(folder, 'part.zip')}`);
    assert.equal(code, 2);
    assert.match(stderr, /^http:\/\/127.0.0.1:\d+ did not send all of it: /);
    assert.equal(sent.length, 1);
    assert.deepEqual(readdirSync(folder), before);
  });

  it('prints what a service refuses without having asked for what it is about', async (t) => {
    const sent = await holder(t, (socket) =>
      whenAsked(socket, () => {
        const body = '{"statusCode":503,"error":"Service Unavailable","message":"about to end"}';
        socket.end(`HTTP/1.1 503 No\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      }),
    );
    const { code, stderr } = await annals('create-user users --email refused@example.org');
    assert.deepEqual([code, stderr], [2, 'about to end\n']);
    assert.equal(sent.length, 1);
    assert.doesNotMatch(sent.join(''), /refused@/);
  });

  for (const brief of ['annals export', 'annals blobs gc']) {
    it(`waits for ${brief}, which has the directory for a moment only`, async (t) => {
      const lock = lockDirectory(data, brief);
      let isHeld = true;
      const leave = () => {
        if (isHeld) lock.release();
        isHeld = false;
      };
      t.after(leave);
      setTimeout(leave, 300);
      const { code, stderr } = await annals('sessions revoke users --email first@example.org');
      assert.deepEqual([code, stderr], [0, '']);
    });
  }

  it('can be stopped while it waits', async (t) => {
    const lock = lockDirectory(data, 'annals serve');
    t.after(lock.release);
    const take = { signal: AbortSignal.timeout(300), receive: () => Promise.reject(new Error('nothing comes')) };
    const alone = async () => lockDirectory(data, 'unknown', 0) as never;
    const waiting = callOrDoAlone({ data, site: null } as Settings, { path: '/health', take }, alone);
    await assert.rejects(waiting, { name: 'CallError', message: 'stopped' });
  });
});
