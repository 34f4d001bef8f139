import type * as http from 'node:http';

/** How requests reach a server; `agent` keeps the connections. */
export type Transport = { transport: Pick<typeof http, 'request'>; agent: http.Agent };

/**
 * Requests to a server that give up when nothing was heard of it for a while, at any time: while connecting, in the middle of
 * what is sent or read, and for the answer. A reader that takes its time is not the server's silence.
 *
 * @param endpoint like `https://s3.example.org:9000`.
 * @param silence milliseconds.
 */
export function connectTo(endpoint: string, silence: number): Transport {
  // Loaded when there is a bucket: as imports they cost every start, and node:http would load all of fetch with it.
  const { request, Agent } = process.getBuiltinModule(endpoint.startsWith('https:') ? 'node:https' : 'node:http');
  const agent = new Agent({ keepAlive: true, timeout: silence });

  function start(options: http.RequestOptions, onResponse: (response: http.IncomingMessage) => void) {
    const sent = request(options, (response) => {
      received = response;
      const { statusCode = 0 } = response;
      if (isFault(statusCode)) sent.destroy(new Error(`it answered ${statusCode}`));
      else onResponse(response);
    });
    let received: http.IncomingMessage | undefined;
    sent.on('timeout', () => {
      if (received && received.readableLength > 0) sent.socket?.setTimeout(silence);
      else (received ?? sent).destroy(new Error(`it was silent for ${silence / 1000} s`));
    });
    return sent;
  }

  return { transport: { request: start as typeof http.request }, agent };
}

/** Answers that the client would say less about, leaving them unread and their connection open. */
function isFault(status: number): boolean {
  return status === 408 || status === 429 || status === 499 || (status >= 500 && status !== 501 && status !== 507);
}
