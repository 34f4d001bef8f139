import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import type { FieldError } from '../config/errors.ts';
import type { JsonObject } from '../config/schema.ts';
import { readSecret } from '../events/vault/vault.ts';
import { createLog, standardError } from '../server/platform/logging.ts';
import { version } from '../server/platform/version.ts';
import { briefHolders, embeddedHolder, serveHolder } from '../server/running/directory.ts';
import { joinVault } from '../server/running/nodes/vault.ts';
import { startService } from '../server/running/service.ts';
import { operatorSecret } from '../server/running/thread-data.ts';
import type { LoadedConfiguration } from '../server/settings/configuration.ts';
import type { Settings } from '../server/settings/settings.ts';
import { codeOf, messageOf } from '../storage/errors.ts';
import { readHolder } from '../storage/holder.ts';
import { LockedError } from '../storage/lock.ts';
import { CallError } from './errors.ts';
import { printError, printLine } from './terminal.ts';

/** Thrown if the service stopped before it took the request: nothing was done. */
class NotTakenError extends CallError {}

/** The address of a service, the secret of its operator, and the site that is meant, null without several. */
export type OperatorConnection = { address: string; secret: string; site: string | null };

/**
 * The settings and the configuration of a service that a command runs itself; `takesFiles` if the command sends files.
 */
export type ServiceSetup = { settings: Settings; loaded: LoadedConfiguration; takesFiles?: boolean };

/**
 * A request to the service: a POST, or with `take` a GET. `reason` is recorded with the change; `patience` is
 * milliseconds.
 */
export type OperatorRequest = { path: string; body?: JsonObject; reason?: string; take?: Take; patience?: number };

/** Receives an answer that is not JSON, and may be long; `signal` aborts it. */
type Take = { signal: AbortSignal; receive: (response: IncomingMessage) => Promise<void> };

/** The answer of the service. `body` is as the API describes it, also of an error. */
export type OperatorAnswer = { status: number; body: JsonObject & { message?: string; errors?: FieldError[] } };

/** The wait for a process that starts or stops, which may take ten seconds for the requests it has taken. */
export const patienceMilliseconds = 30_000;
export const pauseMilliseconds = 200;
const callMilliseconds = 60_000;
/** The longest pause in an answer that is received. */
const stallMilliseconds = 300_000;

const isBrief = new Set<string>(Object.values(briefHolders));

/**
 * Calls the service as its operator, for whom no access rule applies: the service that holds the data directory, else a
 * service that this process runs for the call. So commands write in the same way as all requests.
 *
 * @param before is called first if no service holds the directory; its errors are thrown.
 * @throws CallError if another process has the data directory and cannot be called.
 */
export function callAsOperator(
  own: ServiceSetup,
  order: OperatorRequest,
  before: () => Promise<void> = async () => {},
): Promise<OperatorAnswer> {
  return callOrDoAlone(own.settings, order, async () => {
    await before();
    return callOwn(own, order);
  });
}

/**
 * Sends a request to the service that holds the data directory; without one, does the work here.
 *
 * @param alone does the work; throws a LockedError if the directory is held.
 * @throws CallError when another process has the data directory and cannot be called.
 */
export async function callOrDoAlone(
  settings: Settings,
  order: OperatorRequest,
  alone: () => Promise<OperatorAnswer>,
): Promise<OperatorAnswer> {
  const end = Date.now() + patienceMilliseconds;
  for (;;) {
    try {
      return await alone();
    } catch (error) {
      if (!(error instanceof LockedError)) throw error;
      const answered = await callHolder(settings, error, order);
      if (answered) return answered;
      if (Date.now() > end) throw new CallError(`${error.message}, and does not answer`);
    }
    await wait(pauseMilliseconds);
    if (order.take?.signal.aborted) throw new CallError('stopped');
  }
}

/**
 * Sends a request to the service that works on the data directory.
 *
 * @throws CallError or LockedError if no service runs there, or it cannot be called.
 */
export async function callService(settings: Settings, order: OperatorRequest): Promise<OperatorAnswer> {
  const directory = resolve(settings.data);
  const holder = readHolder(directory);
  const answered = holder && (await callHolder(settings, new LockedError(directory, holder), order));
  if (!answered) throw new CallError(`no service answers requests on ${directory}`);
  return answered;
}

function callOwn(own: ServiceSetup, order: OperatorRequest): Promise<OperatorAnswer> {
  return withOwnService(own, (connection) => call(connection, order));
}

/**
 * Runs a service on the data directory for as long as some work takes.
 *
 * @throws LockedError if another process has the directory.
 */
export async function withOwnService<T>(
  { settings, loaded, takesFiles = false }: ServiceSetup,
  work: (connection: OperatorConnection) => Promise<T>,
): Promise<T> {
  const own = { ...settings, host: '127.0.0.1', port: 0, threads: 0, logLevel: 'error' };
  const sink = standardError();
  const { promise: signalled, reject } = Promise.withResolvers<never>();
  signalled.catch(() => {});
  const stop = () => reject(new CallError('stopped before anything was done'));
  return heedingSignals(stop, async () => {
    const log = createLog(own.logLevel, sink);
    const node = await joinVault({ settings: own, loaded, log });
    const service = startService({
      settings: own,
      loaded,
      sink,
      log,
      node,
      isBrief: true,
      takesFiles,
      // The log of such a service shows errors alone.
      onUpgrade: printError,
    });
    try {
      // After this a signal does not end the process: the work is in progress.
      const { reachable } = await Promise.race([service.ready, signalled]);
      service.setState('ready');
      const secret = service.directory.vault.secret(operatorSecret);
      return await work({ address: reachable, secret, site: settings.site });
    } finally {
      await service.stop();
    }
  });
}

const signals = ['SIGTERM', 'SIGINT'] as const;

/** Runs a task, during which a signal calls `stop` and does not end the process before it has cleaned up. */
export async function heedingSignals<T>(stop: () => void, run: () => Promise<T>): Promise<T> {
  for (const signal of signals) process.on(signal, stop);
  try {
    return await run();
  } finally {
    for (const signal of signals) process.off(signal, stop);
  }
}

/** Calls the service that holds the directory; null if it does not answer now, and has done nothing. */
async function callHolder(
  settings: Settings,
  locked: LockedError,
  order: OperatorRequest,
): Promise<OperatorAnswer | null> {
  const connection = connectionToHolder(settings, locked);
  if (!connection) return null;
  try {
    return await call(connection, order);
  } catch (error) {
    if (error instanceof NotTakenError) return null;
    throw error;
  }
}

/**
 * The connection to the service that holds the directory; null if it cannot be called yet.
 *
 * @throws LockedError or CallError when the holder is not a service that can be called from here.
 */
export function connectionToHolder({ data, site }: Settings, locked: LockedError): OperatorConnection | null {
  const { holder } = locked;
  if (!holder || isBrief.has(holder.what)) return null;
  const isEmbedded = holder.what === embeddedHolder;
  if (holder.what !== serveHolder && !isEmbedded) throw locked;
  // Its address means another machine here, or nothing.
  if (holder.host !== hostname()) throw new CallError(`${locked.message}: run this command on ${holder.host}`);
  if (holder.address === null) {
    // It does not listen itself: it learns its address from the first request.
    if (isEmbedded) throw new CallError(`${locked.message}: it can be called once it has answered a request over HTTP`);
    return null;
  }
  return { address: holder.address, secret: readOperatorSecret(data), site };
}

function readOperatorSecret(data: string): string {
  const path = join(resolve(data), 'vault.db');
  let secret: string | null;
  try {
    secret = readSecret(path, operatorSecret);
  } catch (error) {
    throw new CallError(`${path} cannot be read; only the user of the service may read it: ${messageOf(error)}`);
  }
  if (secret === null) throw new CallError(`${path} has no secret for commands`);
  return secret;
}

/** The errors of a connection to a process that stops, or has stopped. */
const isClosed = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE']);

/**
 * Calls the service without the global agent, which the environment may set to a proxy. The body of a POST is sent when
 * the service accepts it (RFC 9110, section 10.1.1), and then the service answers before it stops: so a request that
 * fails earlier was not carried out. A GET can be retried as long as no part of the answer has come.
 *
 * @throws NotTakenError when the connection was closed before that; CallError.
 */
async function call({ address, secret, site }: OperatorConnection, order: OperatorRequest): Promise<OperatorAnswer> {
  const { path, body, reason, take, patience = callMilliseconds } = order;
  const text = JSON.stringify(body ?? {});
  const outgoing = process.getBuiltinModule('node:http').request(new URL(`${address}${path}`), {
    method: take ? 'GET' : 'POST',
    agent: false,
    signal: take?.signal ?? AbortSignal.timeout(patience),
    headers: {
      authorization: `Annals-Operator ${secret}`,
      ...(site === null ? {} : { 'x-site-id': site }),
      ...(take ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...(take ? {} : { expect: '100-continue' }),
      'user-agent': `annals/${version()}`,
      ...(reason === undefined ? {} : { 'x-change-reason': reason }),
    },
  });
  // An error after the start of the answer is an error of the answer, too.
  outgoing.on('error', () => {});
  let isTaken = false;
  if (take) {
    outgoing.setTimeout(stallMilliseconds, () => outgoing.destroy(new Error('nothing came for a long time')));
    outgoing.end();
  } else {
    outgoing.once('continue', () => {
      isTaken = true;
      outgoing.end(text);
    });
  }
  try {
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const status = response.statusCode ?? 0;
    if (!take || status !== 200) return { status, body: (await json(response)) as OperatorAnswer['body'] };
    isTaken = true;
    await take.receive(response);
    return { status, body: {} };
  } catch (error) {
    if (take?.signal.aborted) throw new CallError('stopped');
    const doubt = isTaken ? 'did not answer, and may have done what was asked' : 'did not answer';
    const message = `${address} ${take ? 'did not send all of it' : doubt}: ${messageOf(error)}`;
    const isOver = !isTaken && isClosed.has(String(codeOf(error)));
    throw isOver ? new NotTakenError(message) : new CallError(message);
  } finally {
    // It would wait to send a body that the service has refused.
    outgoing.destroy();
  }
}

/** How JSON holds a value: a list is an object. */
type Kind<V> = V extends string ? 'string' : V extends number ? 'number' : V extends boolean ? 'boolean' : 'object';

/**
 * The body of an answer as the service describes it.
 *
 * @param kinds the fields that it must have.
 * @throws CallError if one is missing or of another kind.
 */
export function answerOf<T extends object>(
  body: OperatorAnswer['body'],
  kinds: { [name in keyof T as undefined extends T[name] ? never : name]: Kind<T[name]> },
): T {
  const wrong = Object.entries(kinds).find(([name, kind]) => typeof body[name] !== kind);
  if (wrong) throw new CallError(`the service answered without ${wrong[0]}: is it of another version?`);
  return body as T;
}

/** Prints the result of what the service has done, or why it refused; gives the exit code. */
export function reportAnswer(answered: OperatorAnswer, praise: (body: OperatorAnswer['body']) => string): number {
  return answered.status >= 300 ? reportRefusal(answered) : printLine(praise(answered.body));
}

/** Prints why the service refused, one reason per line. Gives the exit code: 1, or 2 if it could not act. */
export function reportRefusal({ status, body }: OperatorAnswer): number {
  process.stderr.write(`${problemsIn(body).join('\n')}\n`);
  return status === 401 || status >= 500 ? 2 : 1;
}

/** The reasons of a refusal, each with the field that it is about. */
export function problemsIn({ message = 'the service refused', errors = [] }: OperatorAnswer['body']): string[] {
  if (errors.length === 0) return [message];
  return errors.map((error) =>
    error.message.startsWith(error.field) ? error.message : `${error.field}: ${error.message}`,
  );
}
