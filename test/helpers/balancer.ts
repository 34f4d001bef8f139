import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A load balancer that ignores the contents of requests: each goes to the next node. */
export type Balancer = { url: string; close: () => Promise<void> };

/** Opens a balancer in front of nodes, by their addresses. */
export async function openBalancer(urls: readonly string[]): Promise<Balancer> {
  let turn = 0;
  const server = createServer((request, response) => {
    turn += 1;
    pass(String(urls[turn % urls.length]), request, response);
  });
  // The node, not the balancer, answers `expect: 100-continue`.
  server.on('checkContinue', (request, response) => {
    turn += 1;
    pass(String(urls[turn % urls.length]), request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function pass(to: string, request: IncomingMessage, response: ServerResponse): void {
  const { method, url, rawHeaders } = request;
  const passed = httpRequest(to, { method, path: url, headers: headersOf(rawHeaders), agent: false, setHost: false });
  passed.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    answer.pipe(response);
  });
  passed.on('continue', () => response.writeContinue());
  passed.on('error', () => response.destroy());
  request.pipe(passed);
  response.on('close', () => passed.destroy());
}

/** The headers of a request by name; a header that came twice has a list. */
function headersOf(raw: readonly string[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (let at = 0; at < raw.length; at += 2) {
    const [name = '', value = ''] = raw.slice(at);
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  return headers;
}
