import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from '@hapi/hapi';
import type { Logger } from 'pino';
import { checkConfig } from '../../../config/check.ts';
import type { Progress } from '../../../projections/start/rebuild.ts';
import { createLog } from '../../platform/logging.ts';
import { type LoadedConfiguration, loadConfiguration } from '../../settings/configuration.ts';
import { urlOf } from '../addresses.ts';
import type { OpenApp } from '../app/open-app.ts';
import { type Directory, embeddedHolder } from '../directory.ts';
import { type Engine, startEngine } from '../engine/engine.ts';
import type { EngineConfiguration } from '../engine/engine-client.ts';
import { openServer } from '../http-server.ts';
import { joinVault } from '../nodes/vault.ts';
import { createGate } from './gate.ts';
import type { EmbeddedSettings, LineSink } from './options.ts';

/** A service that answers requests of another server, in the thread of that server. */
export type Embedded = {
  /** Resolves when the service answers; rejects if it cannot start. A rejection may go unhandled: it is logged too. */
  ready: Promise<EmbeddedReady>;
  /**
   * Answers a request, with a 503 while the service is not available; resolves when the request is over.
   *
   * @param before the part of the path before the paths that the service knows: `/cms` in `/cms/api/schemas`.
   */
  answer: (request: IncomingMessage, response: ServerResponse, url: string, before: string) => Promise<void>;
  /** Ends the answers that never end by themselves: the other server waits for them when it stops. */
  release: () => Promise<void>;
  /** Finishes the requests in flight, for 10 seconds at most, and closes everything. */
  close: () => Promise<void>;
};

/**
 * Facts about a running service. The members are written out because the type is part of the package: hosts would have
 * to compile each type that it imported.
 */
export type EmbeddedReady = {
  /** The address of the admin application; null if it is turned off. */
  adminUrl: string | null;
  /** The API key that was generated because none was given; it is kept in the data directory. */
  apiKey: string | null;
  /**
   * The secret address of the page that makes the first user; null when there is one, or no collection of users may log
   * in.
   */
  setupUrl: string | null;
  /** Where mails are listed that are caught and not sent, as in development without settings; else null. */
  mailUrl: string | null;
};

const stopMilliseconds = 10_000;

/** Starts a service. Whatever happens to it, the process continues: a failed service answers 503. */
export function startEmbedded(given: EmbeddedSettings): Embedded {
  const { settings, logger } = given;
  const log = createLog(settings.logLevel, sinkOf(logger));
  const gate = createGate(log);
  const closed = Promise.withResolvers<never>();
  let engine: Engine | null = null;
  let isEngineReady = false;
  let app: OpenApp | null = null;
  let server: Server | null = null;
  let ending: Promise<void> | null = null;
  let releasing: Promise<void> | null = null;
  const announceOnce = announcing(log);

  async function open(): Promise<EmbeddedReady> {
    const loaded = await load(given);
    if (ending) throw closedError();
    tellOfHost(loaded, given.path, log);
    const node = await joinVault({ settings, loaded, log });
    if (ending) await node?.close();
    if (ending) throw closedError();
    const progress = progressIn(log);
    engine = startEngine({ settings, loaded, log, node, holder: embeddedHolder, progress, onFailure: fail });
    const { client, announce } = await engine.ready;
    isEngineReady = true;
    if (ending) throw closedError();
    app = client().openHere();
    server = await openServer(app);
    const { adminUrl, setupUrl, mailUrl } = announce(null);
    engine.setState('ready');
    if (!ending) gate.open(server.listener);
    return { adminUrl, apiKey: engine.directory.generatedKey, setupUrl, mailUrl };
  }

  function fail(err: Error, message: string): void {
    if (ending) return;
    log.fatal({ err }, `${message}; requests are answered with 503 until the service is started again`);
    end('the service is not available').catch((err) => log.error({ err }, 'the service could not be closed'));
  }

  function end(message: string): Promise<void> {
    ending ??= closeAll(message);
    return ending;
  }

  async function closeAll(message: string): Promise<void> {
    gate.close(message);
    engine?.setState('stopping');
    // A start may wait for ever once its parts are closed, so it is not awaited.
    if (!engine || isEngineReady) await opening.catch(() => {});
    try {
      await release();
      await gate.drain(stopMilliseconds);
      await app?.close();
      await engine?.stop();
    } finally {
      closed.reject(closedError());
    }
  }

  async function release(): Promise<void> {
    engine?.setState('stopping');
    releasing ??= server?.stop() ?? null;
    await releasing;
  }

  const opening = open();
  const ready = Promise.race([opening, closed.promise]);
  closed.promise.catch(() => {});
  ready.catch((err) => fail(err, 'the service could not start'));
  return {
    ready,
    answer(request, response, url, before) {
      if (engine && isEngineReady && !ending) announceOnce(engine.directory, request, before);
      return gate.pass(request, response, url);
    },
    release,
    close: () => end('the service has stopped'),
  };
}

/** Tells of what the configuration says and the server around the service does not do. */
function tellOfHost({ model, seed }: Pick<LoadedConfiguration, 'model' | 'seed'>, path: string, log: Logger): void {
  if (model.securityContact.length > 0 && path === '')
    log.warn(
      'securityContact shows nothing here: at its root, /.well-known/security.txt is that of the server around the service',
    );
  if (seed) log.info('the configuration has a seed, which only annals serve runs');
}

/**
 * Gives the function that tells commands, at the first request, where the service answers: the service does not know
 * where the other server listens.
 */
function announcing(log: Logger) {
  let isKnown = false;
  return ({ announce }: Directory, { socket }: IncomingMessage, before: string): void => {
    const { localAddress = '', localPort } = socket;
    if (isKnown || localPort === undefined || ('encrypted' in socket && socket.encrypted)) return;
    isKnown = true;
    const host = localAddress.replace(/^::ffff:(?=[\d.]+$)/, '');
    try {
      announce(`${urlOf(host, localPort)}${before}`);
    } catch (err) {
      log.error({ err }, 'commands cannot be told where the service answers');
    }
  };
}

/** A logger that fails, at once or later, must neither fail a request nor end the process of the other server. */
function sinkOf(logger: LineSink): { write: (line: string) => void } {
  let isTold = false;
  async function write(line: string): Promise<void> {
    try {
      await logger.write(line);
    } catch (error) {
      if (!isTold) process.emitWarning(`the logger that was given to Annals failed: ${error}`);
      isTold = true;
    }
  }
  return { write: (line) => void write(line) };
}

function closedError(): Error {
  return new Error('the service was closed');
}

async function load({ config }: EmbeddedSettings): Promise<EngineConfiguration & Pick<LoadedConfiguration, 'seed'>> {
  if (typeof config === 'string') return loadConfiguration(config);
  return { path: null, model: checkConfig(config), seed: null };
}

const progressMilliseconds = 5000;

function progressIn(log: Logger): Progress {
  let next = Date.now() + progressMilliseconds;
  return (done, total) => {
    if (Date.now() < next) return;
    next = Date.now() + progressMilliseconds;
    log.info(`building the read tables: ${done} of ${total}`);
  };
}
