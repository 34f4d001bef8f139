import { hash } from 'node:crypto';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Logger } from 'pino';
import { createIds } from '../events/ids.ts';
import { createKeeper, type Keeper } from './accounts/keeper.ts';
import { hasUsers, setupTokenId } from './accounts/setup.ts';
import { readUser } from './accounts/users.ts';
import { openApp, type Shared } from './app.ts';
import type { Loaded } from './configuration.ts';
import { type Directory, openDirectory } from './directory.ts';
import type { LogSink } from './logging.ts';
import { startReactor } from './mail/reactor.ts';
import { type Mailer, openMail } from './mail/transport.ts';
import { showProgress } from './progress.ts';
import type { Settings } from './settings.ts';
import { createState, type State, setState } from './state.ts';
import { connectWriter } from './threads/append.ts';
import { answerCalls } from './threads/calls.ts';
import { startHttpThreads } from './threads/http.ts';
import { startWriter } from './threads/writer.ts';

/** A running service, seen from the main thread. */
export type Service = {
  directory: Directory;
  /** Resolves when requests are answered; rejects when the service cannot start. */
  ready: Promise<Ready>;
  setState: (state: State) => void;
  /** Finishes what is in flight and closes everything. */
  stop: () => Promise<void>;
};

/** Where a service answers, and what is worth telling about it. */
export type Ready = {
  /** Under which address it can be called from here. */
  reachable: string;
  /** Under which address clients reach it. */
  baseUrl: string;
  /** What it listens on. */
  address: string;
  /** Events in the log at start. */
  size: number;
  /** Where the first user is made; null when there is one, or nobody can log in. */
  setupUrl: string | null;
};

type Mail = { poke: () => void; close: () => Promise<void> };
type OpenApp = ReturnType<typeof openApp>;
type Options = {
  settings: Settings;
  loaded: Loaded;
  sink: LogSink;
  log: Logger;
  /** True for one that lives for a single command: it sends no mail, which goes on waiting, for it would end in the middle. */
  isBrief?: boolean;
};

/**
 * Starts everything: the writer, the threads that answer requests, what keeps the secrets of accounts, and mail.
 *
 * @throws LockedError when another process works on the data directory.
 */
export function startService({ settings, loaded, sink, log, isBrief = false }: Options): Service {
  const { model } = loaded;
  const directory = openDirectory(settings);
  const state = createState();
  const threads = startHttpThreads({
    count: settings.threads,
    input: { config: loaded.path, logLevel: settings.logLevel },
    sink,
    log,
    onFailure: (error) => die(log, error, 'a thread that answers requests cannot be replaced; the process ends'),
  });
  const counter = new BigInt64Array(new SharedArrayBuffer(8));
  const logId = `annals/${createIds(counter, Date.now).next().id}`;
  const writer = startWriter(
    { directory: directory.path, schema: model.schema, counter, logId },
    showProgress('building the read tables'),
    (error) => die(log, error, 'the writer failed; the process ends, and the next start recovers from the log'),
  );
  const { rateLimit, bcryptCost } = model;
  const keeper = createKeeper({
    vault: directory.vault,
    rules: new Map([...model.collections].flatMap(([slug, { auth }]) => (auth ? [[slug, auth]] : []))),
    bcryptCost,
    rateLimit,
    now: Date.now,
    onMail: () => mail?.poke(),
  });
  let mail: Mail | null = null;

  async function start(): Promise<Ready> {
    const { readFile, size } = await writer.ready;
    const { apiKeys, secrets, vault } = directory;
    const operatorHash = hash('sha256', vault.secret(operatorSecret), 'buffer');
    const { isProduction, baseUrl: given = null } = settings;
    const shared = { readFile, counter, state, apiKeys, secrets, operatorHash, isProduction, baseUrl: given };
    const app = model.adminCollection === null || isBrief ? null : openOwn(shared);
    // Before anybody can keep a password that no event names yet.
    if (app) sweep(app);
    const mailer = app && (await openMailer());
    const port = await threads.listen(shared, { writer: writer.connect, keeper: connectKeeper }, settings);
    const reachable = urlOf(loopbackOf[settings.host] ?? settings.host, port);
    const baseUrl = given ?? reachable;
    directory.announce(reachable);
    if (app && mailer) mail = startMail(app, mailer, baseUrl);
    const setupUrl = app && setupUrlOf(app, baseUrl);
    return { reachable, baseUrl, address: urlOf(settings.host, port), size, setupUrl };
  }

  function sweep({ accounts }: OpenApp): void {
    const { missing } = keeper.sweep(accounts.credentials());
    if (missing === 0) return;
    log.warn(
      `passwords that vault.db lacks: ${missing}; these accounts need new ones to log in. Is it the vault.db of this log?`,
    );
  }

  function connectKeeper(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    const { token: _token, sweep: _sweep, close: _close, ...functions } = keeper;
    answerCalls<Keeper>(port1, functions);
    return port2;
  }

  /** The service as the main thread has it: it reads accounts as the threads that answer requests do. */
  function openOwn(shared: Shared): OpenApp {
    const openApi = () => Promise.reject(new Error('the main thread answers no requests'));
    return openApp({ model, shared, append: connectWriter(writer.connect()), keeper, log, openApi });
  }

  function openMailer(): Promise<Mailer> {
    const { smtpUrl, mailFrom: from, isProduction } = settings;
    return openMail({ email: model.email, smtpUrl, from, isProduction, log });
  }

  function startMail(app: OpenApp, mailer: Mailer, baseUrl: string): Mail {
    const reactor = startReactor({
      model,
      baseUrl,
      accounts: app.accounts,
      userOf: (slug, id) => readUser(app, slug, id),
      token: keeper.token,
      append: app.append,
      mailer,
      log,
    });
    async function close(): Promise<void> {
      await reactor.close();
      await mailer.close();
      await app.close();
    }
    return { poke: reactor.poke, close };
  }

  function setupUrlOf(app: OpenApp, baseUrl: string): string | null {
    const slug = String(model.adminCollection);
    const target = app.collections.get(slug);
    if (!target || hasUsers(target)) return null;
    const token = keeper.token('setup', slug, setupTokenId(app, slug));
    return `${baseUrl}/account/${slug}/setup?token=${token}`;
  }

  const ready = start();
  return {
    directory,
    ready,
    setState: (next) => setState(state, next),
    async stop() {
      // A start that is cut short fails on what is closed now.
      ready.catch(() => {});
      setState(state, 'stopping');
      await threads.stop();
      await mail?.close();
      await writer.close();
      await keeper.close();
      directory.close();
      sink.flushSync();
    },
  };
}

/** The name of the secret by which the command line is known to a service that runs. */
export const operatorSecret = 'operator';

/** Under which address a server that listens on every one can be called from here. */
const loopbackOf: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

function urlOf(host: string, port: number | string): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Without a part of it the service answers wrongly or not at all: nothing is left but to start again. */
function die(log: Logger, error: Error, message: string): void {
  log.fatal({ err: error }, message);
  process.exitCode = 1;
  setTimeout(() => process.exit(1), 100);
}
