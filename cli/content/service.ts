import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { Json, JsonObject } from '../../config/schema.ts';
import { version } from '../../server/platform/version.ts';
import { codeOf, messageOf } from '../../storage/errors.ts';
import { LockedError } from '../../storage/lock.ts';
import { CallError } from '../errors.ts';
import {
  connectionToHolder,
  type OperatorAnswer,
  type OperatorConnection,
  patienceMilliseconds,
  pauseMilliseconds,
  problemsIn,
  type ServiceSetup,
  withOwnService,
} from '../operator-connection.ts';

/** A file to send with the fields of its document; `size` is bytes. */
export type SentFile = { path: string; size: number; name: string };

/**
 * A request of the operator. With a file it is a form; `text` is a body in JSON. `key` is an idempotency key, `reason`
 * goes on record, and `patience` is milliseconds in which nothing comes.
 */
export type Ask = {
  method: 'GET' | 'POST' | 'PATCH';
  path: string;
  body?: JsonObject;
  text?: string;
  file?: SentFile;
  patience?: number;
  key?: string;
  reason?: string;
};

/** A service that is called many times, for whom the caller is its operator. */
export type Calls = {
  /**
   * @throws CallError if it does not answer, refuses the credential or has failed: later requests would fare no better.
   */
  ask: (ask: Ask) => Promise<OperatorAnswer>;
};

/** Thrown if the service failed over a request, and may take others. */
export class FailedError extends CallError {
  override name = 'FailedError';
}

/** How many times a request is repeated after an answer 503, which asks for that. */
const mostRetries = 30;
const stallMilliseconds = 120_000;
/** Of a connection that ends before the answer, or in it. */
const brokenOff = new Set(['ECONNRESET', 'EPIPE']);
const mostBroken = 6;
const brokenMilliseconds = 50;

/**
 * Works with the service that holds the data directory, else with a service that this process runs meanwhile.
 *
 * @param before is called first if no service holds the directory; its errors are thrown.
 * @throws CallError or LockedError if another process has the directory and cannot be called.
 */
export async function onService<T>(
  own: ServiceSetup,
  work: (calls: Calls) => Promise<T>,
  before: () => void = () => {},
): Promise<T> {
  const end = Date.now() + patienceMilliseconds;
  for (;;) {
    let connection: OperatorConnection | null;
    try {
      before();
      return await withOwnService(own, (ownLine) => calling(ownLine, work));
    } catch (error) {
      if (!(error instanceof LockedError)) throw error;
      connection = connectionToHolder(own.settings, error);
      if (!connection && Date.now() > end) throw new CallError(`${error.message}, and does not answer`);
    }
    if (connection) return calling(connection, work);
    await wait(pauseMilliseconds);
  }
}

async function calling<T>(connection: OperatorConnection, work: (calls: Calls) => Promise<T>): Promise<T> {
  // Not the global agent, which the environment may set to a proxy.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    return await work({ ask: (ask) => askPatiently(connection, agent, ask) });
  } finally {
    agent.destroy();
  }
}

async function askPatiently(connection: OperatorConnection, agent: Agent, ask: Ask): Promise<OperatorAnswer> {
  for (let count = 0; ; count += 1) {
    const { status, headers, body } = await answerTo(connection, agent, ask);
    if (status === 503 && count < mostRetries) {
      await wait(Math.min(Number(headers['retry-after'] ?? 1), 10) * 1000);
      continue;
    }
    if (status === 401 || status === 503) throw new CallError(problemsIn(body).join('\n'));
    if (status >= 500) throw new FailedError(problemsIn(body).join('\n'));
    return { status, body };
  }
}

/** Sends a request, and again if its connection breaks off: each write has an idempotency key, or may be done twice. */
async function answerTo(
  connection: OperatorConnection,
  agent: Agent,
  ask: Ask,
): Promise<OperatorAnswer & Pick<IncomingMessage, 'headers'>> {
  for (let count = 0; ; count += 1) {
    try {
      const response = await send(connection, agent, ask);
      const body = (await json(response)) as OperatorAnswer['body'];
      return { status: response.statusCode ?? 0, headers: response.headers, body };
    } catch (error) {
      if (!brokenOff.has(String(codeOf(error))) || count >= mostBroken)
        throw new CallError(`${connection.address} did not answer: ${messageOf(error)}`);
      // A kept connection may have been closed in the meantime: that one is known to be gone.
      if (count > 0) await wait(brokenMilliseconds * 2 ** count);
    }
  }
}

async function send(connection: OperatorConnection, agent: Agent, ask: Ask): Promise<IncomingMessage> {
  const { body, file, text = JSON.stringify(body ?? {}), patience = stallMilliseconds } = ask;
  const boundary = `annals-${randomUUID()}`;
  const start = file ? formStart(boundary, body ?? {}, file.name) : Buffer.from(text);
  const end = file ? Buffer.from(`\r\n--${boundary}--\r\n`) : Buffer.alloc(0);
  const outgoing = request(new URL(`${connection.address}${ask.path}`), {
    method: ask.method,
    agent,
    headers: {
      authorization: `Annals-Operator ${connection.secret}`,
      'user-agent': `annals/${version()}`,
      ...(connection.site === null ? {} : { 'x-site-id': connection.site }),
      ...(ask.method === 'GET'
        ? {}
        : {
            'content-type': file ? `multipart/form-data; boundary=${boundary}` : 'application/json',
            'content-length': start.length + (file?.size ?? 0) + end.length,
          }),
      ...(ask.key === undefined ? {} : { 'idempotency-key': ask.key }),
      // In a header, so other characters than ASCII are encoded (RFC 8187).
      ...(ask.reason === undefined ? {} : { 'x-change-reason': `UTF-8''${encodeURIComponent(ask.reason)}` }),
    },
  });
  outgoing.setTimeout(patience, () => outgoing.destroy(new Error('nothing came for a long time')));
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    // An error after the start of the answer is an error of the answer, too.
    outgoing.on('error', reject);
  });
  answered.catch(() => {});
  if (ask.method === 'GET') outgoing.end();
  else if (!file) outgoing.end(start);
  else {
    outgoing.write(start);
    // A service that refuses answers before it has read all.
    await Promise.race([pipeline(createReadStream(file.path), outgoing, { end: false }), answered]);
    outgoing.end(end);
  }
  return await answered;
}

function formStart(boundary: string, fields: JsonObject, name: string): Buffer {
  const open = `--${boundary}\r\ncontent-disposition: form-data; name=`;
  const texts = Object.entries(fields)
    .filter(([, value]) => value !== null)
    .map(([field, value]) => `${open}"${escaped(field)}"\r\n\r\n${textOf(value)}\r\n`);
  const type = 'content-type: application/octet-stream';
  return Buffer.from(`${texts.join('')}${open}"file"; filename="${escaped(name)}"\r\n${type}\r\n\r\n`);
}

function textOf(value: Json): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** As browsers write names into a form, and as the service reads them. */
function escaped(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}
