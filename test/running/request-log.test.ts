import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../server/platform/logging.ts';
import { neverListening } from '../../server/running/http-server.ts';
import { logRequests } from '../../server/running/request-log.ts';

type Actor = { type: 'anonymous' } | { type: 'apiKey'; id: string };

/** The line of a request, and the one that pino writes of the same members. */
async function linesOf(options: { url: string; method?: string; actor?: Actor; site?: string; level?: string }) {
  const { url, method = 'GET', actor, site = null, level = 'info' } = options;
  const lines: string[] = [];
  const log = createLog(level, { write: (line) => lines.push(line) }, site);
  const server = neverListening();
  logRequests(server, { log, state: () => 'ready' });
  server.route({ method: '*', path: '/{any*}', handler: () => 'ok' });
  const auth = actor && { strategy: 'any', credentials: { user: { actor, session: null } } };
  await server.inject({ url, method, remoteAddress: '2001:db8::1', ...(auth && { auth }) });
  const [line] = lines.splice(0);
  if (line !== undefined) {
    const { level: _level, time: _time, site: _site, ...members } = JSON.parse(line);
    log.info(members);
  }
  return { line, pinos: lines[0] };
}

/** A line whose time is always the same. */
function timeless(line: string | undefined): string | undefined {
  return line?.replace(/"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/, '"time":""');
}

describe('The line of a request in the log', () => {
  it('is the one that pino writes of the same members, whatever was asked for', async () => {
    const requests = [
      { url: '/a' },
      { url: '/%22%5C%0A%00%7F%E2%80%A8%F0%9F%98%80%C3%A4?q=secret' },
      { url: '/a"b\\c', method: 'PURGE' },
      { url: '/a', site: 'one"two' },
      { url: '/a', actor: { type: 'apiKey', id: 'k"1\u0007' } as const },
    ];
    for (const request of requests) {
      const { line, pinos } = await linesOf(request);
      assert.equal(timeless(line), timeless(pinos));
    }
  });

  it('has no query, and each member', async () => {
    const { line = '' } = await linesOf({ url: '/posts?token=secret', method: 'DELETE' });
    const { time, requestId, milliseconds, ...rest } = JSON.parse(line);
    assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000);
    assert.match(requestId, /^[\da-f-]{36}$/);
    assert.ok(milliseconds >= 0);
    assert.deepEqual(rest, {
      level: 30,
      method: 'DELETE',
      path: '/posts',
      status: 200,
      actor: { type: 'anonymous' },
      ip: '2001:db8::1',
    });
  });

  it('is not written at the level warn', async () => {
    assert.deepEqual(await linesOf({ url: '/a', level: 'warn' }), { line: undefined, pinos: undefined });
  });
});
