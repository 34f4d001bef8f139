import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Model } from '../../config/model.ts';
import { createClock, newClockCell } from '../../events/clock.ts';
import { createIds, newestOf } from '../../events/ids.ts';
import { logFile } from '../../projections/files.ts';
import type { Progress } from '../../projections/rebuild.ts';
import { createKeeper, type MainKeeper } from '../accounts/keeper.ts';
import { startReactor } from '../accounts/mail/reactor.ts';
import { type Mailer, openMail } from '../accounts/mail/transport.ts';
import { hasUsers, setupTokenId } from '../accounts/setup.ts';
import { type ErasureWorker, openErasureWorker } from '../audit/erasure/worker.ts';
import { type Anchoring, openAnchoring } from '../audit/notary/anchoring.ts';
import { recordKeyChanges } from '../audit/notary/keys.ts';
import { type MainNotary, openNotary } from '../audit/notary/signing.ts';
import { openVerifying, type Verifying } from '../audit/notary/verifying.ts';
import { type BlobGuard, openBlobGuard } from '../files/blobs/guard.ts';
import { blobSettingsOf } from '../files/blobs/store.ts';
import { createToldOrigins } from '../http/refused-origins.ts';
import { type Made, openDocumentCache } from '../openapi/cache.ts';
import { createState, type State, setState } from '../platform/state.ts';
import type { Api, ErasurePort, Keeper, Notary } from '../ports.ts';
import { certificatesIn } from '../settings/certificates.ts';
import type { Loaded } from '../settings/configuration.ts';
import { parseWitness } from '../settings/cosigners.ts';
import type { Settings } from '../settings/settings.ts';
import { connectWriter } from '../writer/append.ts';
import { startWriter } from '../writer/writer.ts';
import { watchClock } from './clock.ts';
import { type Directory, openDirectory } from './directory.ts';
import { type Describe, type Describing, openApp, type Shared } from './open-app.ts';
import type { Connect } from './threads/http.ts';
import { portTo, portToNotary, portToPins } from './threads/message-ports.ts';
import { generateOpenApiInWorker } from './threads/openapi.ts';

/** All that works on one data directory, but for who answers requests. It is seen from the main thread. */
export type Engine = {
  directory: Directory;
  /** Resolves when requests may be answered; rejects when the directory cannot be worked on. */
  ready: Promise<EngineReady>;
  setState: (state: State) => void;
  /** Finishes what is under way and closes everything. Who answers requests has ended before. */
  stop: () => Promise<void>;
};

/** What those need that answer requests, in threads of their own or in this one. */
export type EngineReady = {
  /** Events in the log at start. */
  size: number;
  /** How many of those that it held before, the last ones, no checkpoint had signed. */
  unsigned: number;
  /** What each thread is given. */
  shared: Shared;
  /** Makes the ways of one thread to this one, and to the writer. */
  connect: Connect;
  /** The service for requests that this very thread answers; to be closed before the engine stops. */
  openHere: () => OpenApp;
  /**
   * Mail begins, whose links are known now.
   *
   * @param reachable under which address it can be called from here; null where that is not known. Then the settings must say
   *   under which clients do.
   */
  announce: (reachable: string | null) => Announced;
};

/** Where clients reach the service. */
export type Announced = {
  baseUrl: string;
  /** Where the first user is made; null when there is one, or nobody can log in. */
  setupUrl: string | null;
  /** Where mails are listed that are caught and not sent; null when they are sent, or nobody gets any. */
  mailUrl: string | null;
};

type Mail = { wake: () => void; close: () => Promise<void> };
type OpenApp = ReturnType<typeof openApp>;
type Options = {
  settings: Settings;
  /** Without a path it is an object, which no command can look at. */
  loaded: Pick<Loaded, 'model'> & { path: string | null };
  log: Logger;
  /** Called when a part ends without which it answers wrongly or not at all: nothing is left but to start it again. */
  onFailure: (error: Error, message: string) => void;
  /** Shows how far the read tables are, where they must be built first. */
  progress?: Progress;
  /** Whose the data directory is, as others are told who want it too. */
  holder?: string;
  /** True for one that lives for a single command: it sends no mail, which goes on waiting, for it would end in the middle. */
  isBrief?: boolean;
};

/**
 * Starts what works on a data directory: the writer, what keeps the secrets of accounts, what guards files, signing and mail.
 *
 * @throws LockedError when another process works on it, or this one already does; UnwritableError when this user may not.
 */
export function startEngine(options: Options): Engine {
  const { settings, loaded, log, onFailure, progress = () => {}, holder, isBrief = false } = options;
  const { model } = loaded;
  warnOfConfiguration(log, settings, loaded);
  warnOfSecrets(log, settings);
  const directory = openDirectory(settings, holder);
  for (const warning of directory.warnings) log.warn(warning);
  const state = createState();
  const counter = new BigInt64Array(new SharedArrayBuffer(8));
  const clockCell = newClockCell();
  const clock = createClock(clockCell);
  const ids = createIds(counter, clock.believed);
  const logId = `annals/${ids.next().id}`;
  const writer = startWriter(
    {
      directory: directory.path,
      schema: model.schema,
      rules: model.rules,
      counter,
      clockCell,
      logId,
      signed: directory.vault.logKeys.signed(),
      seals: directory.vault.seals(),
      acceptsClock: settings.acceptClock,
      isStrict: settings.strictSchema,
    },
    {
      progress,
      onChanges: (lines) => {
        for (const line of lines) log.warn(line);
      },
      onSealed: directory.vault.remembersSealed,
    },
    (error) => onFailure(error, 'the writer failed, and the next start recovers from the log'),
  );
  const mainKeeper = openKeeper(directory, model, {
    now: clock.believed,
    isOneOfMany: settings.site !== null,
    onMail: () => mail?.wake(),
    onDraftFailure: (err) => log.error({ err }, 'drafts could not be deleted; it is tried again'),
    onSwapped: () => log.error('a login was refused: the hash in vault.db is not that of the password which was set'),
  });
  const { keeper } = mainKeeper;
  let notary: MainNotary | null = null;
  let anchoring: Anchoring | null = null;
  let verifying: Verifying | null = null;
  let guard: BlobGuard | null = null;
  let app: OpenApp | null = null;
  let mailer: Mailer | null = null;
  let mail: Mail | null = null;
  let erasures: ErasureWorker | null = null;
  let signedAtStart = 0;
  let unwatch = () => {};
  let closeDocuments = () => {};

  async function start(): Promise<EngineReady> {
    const { readFile, log: logName, size, found, upgradedFrom } = await writer.ready;
    unwatch = watchClock({ clock, newest: () => newestOf(counter), log });
    await recordKeyChanges({
      file: logFile(directory.path),
      keys: directory.vault.logKeys,
      append: (command) => connectWriter(writer.connect()).appendAnyway(command),
      nextId: () => ids.next().id,
      onRecorded: (line) => log.warn(line),
    });
    const blobGuard = await openBlobGuard({ settings, model, logId: logName, writer, isBrief, log });
    guard = blobGuard;
    const signing = await openSigning(blobGuard);
    const unsigned = Math.max(found - signedAtStart, 0);
    if (unsigned > 0) log.warn(unsignedWarning(found, unsigned, upgradedFrom));
    const looking = openVerifying({
      file: logFile(directory.path),
      logId: logName,
      keys: directory.vault.logKeys,
      sealKey: directory.vault.seals().key,
      now: clock.believed,
      percent: isBrief ? 0 : settings.verifyPercent,
      log,
    });
    verifying = looking;
    const allNotary: Notary = { ...signing, verification: async () => looking.verification() };
    const finisher = openErasureWorker({
      logFile: logFile(directory.path),
      guard: blobGuard,
      scrub: writer.scrub,
      forgetDrafts: mainKeeper.forgetDrafts,
      logger: log,
    });
    erasures = finisher;
    finisher.wake();
    const shared = {
      readFile,
      logFile: logFile(directory.path),
      counter,
      clockCell,
      state,
      ...sharedOf(settings, directory),
    };

    const documents = openDocumentCache({ directory: directory.path, subject: { model, ...shared }, log });
    closeDocuments = documents.close;
    const openApi: Describe = (api) => documents.read(api, () => describeService(api, loaded, shared));

    function openHere(): OpenApp {
      const { release, ...pins } = blobGuard.join();
      const erasurePort = erasurePortOf(finisher, blobGuard, mailer);
      const writing = connectWriter(writer.connect());
      const here = openApp({
        model,
        shared,
        writing,
        keeper,
        notary: allNotary,
        pins,
        erasures: erasurePort,
        log,
        openApi,
      });
      return {
        ...here,
        async close() {
          await here.close();
          await release();
        },
      };
    }

    if (model.adminCollection !== null && !isBrief) {
      // The service as the main thread has it: it reads accounts as the threads that answer requests do.
      app = openHere();
      // Before anybody can keep a password that no event names yet.
      if (directory.vault.isOf(logName)) sweep(mainKeeper, app);
      else log.warn('vault.db was made for another log: the passwords of that one are left alone in it');
      mailer = await openMailer(settings, model, log);
    }

    function announce(reachable: string | null): Announced {
      const baseUrl = shared.baseUrl ?? reachable;
      if (baseUrl === null) throw new Error('nobody said under which address clients reach the service');
      if (reachable !== null) directory.announce(reachable);
      if (app && mailer) mail = startMail({ app, mailer, baseUrl, token: mainKeeper.token });
      const setupUrl = app && setupUrlOf(app, baseUrl, mainKeeper.token);
      return { baseUrl, setupUrl, mailUrl: mailer?.caught?.url ?? null };
    }

    const connect = {
      writer: writer.connect,
      keeper: () => portTo<Keeper>(keeper),
      notary: () => portToNotary(allNotary),
      pins: () => portToPins(blobGuard),
      erasures: () => portTo<ErasurePort>(erasurePortOf(finisher, blobGuard, mailer)),
      openApi: () => portTo<Describing>({ describe: openApi }),
    };
    return { size, unsigned, shared, connect, openHere, announce };
  }

  /** Signing, and the copies of what is signed; a service for a single command leaves those to the next one. */
  async function openSigning({ store }: BlobGuard): Promise<MainNotary> {
    const common = {
      file: logFile(directory.path),
      keys: directory.vault.logKeys,
      keep: writer.keepCheckpoint,
      now: clock.believed,
      log,
    };
    const sealKey = directory.vault.seals().key;
    notary = openNotary({ ...common, sealKey, onSigned: () => anchoring?.wake() });
    signedAtStart = notary.signedSize();
    if (!isBrief) {
      const { webhook, tsaUrl: url, tsaCa } = settings;
      const trusted = tsaCa === undefined ? [] : certificatesIn(tsaCa);
      const authority = url === undefined ? null : { url, trusted };
      const witnesses = settings.witnesses.map(parseWitness);
      const { refuse } = notary;
      const onContradiction = (error: Error) => {
        refuse(error);
        onFailure(error, 'the log is not the one that was signed');
      };
      anchoring = openAnchoring({ ...common, store, webhook, authority, witnesses, onContradiction });
      await anchoring.start();
    }
    notary.begin();
    return notary;
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
      unwatch();
      closeDocuments();
      await (mail ?? mailer)?.close();
      await app?.close();
      await erasures?.close();
      // The writer is the last that has the log open, which is then one file: who only reads cannot clear up after it.
      await verifying?.close();
      await notary?.close();
      await anchoring?.close();
      guard?.close();
      await writer.close();
      await mainKeeper.close();
      directory.close();
    },
  };
}

/** The name of the secret by which the command line is known to a service that runs. */
export const operatorSecret = 'operator';

/** As many characters as the signature of a token has bytes (RFC 7518, section 3.2). */
const safeLength = 32;

/** In one line: who starts the service looks for its addresses, and a command prints all where the configuration is a file. */
function warnOfConfiguration(log: Logger, settings: Settings, { model: { warnings }, path }: Options['loaded']): void {
  const { length } = warnings;
  const told = `${length} warnings about the configuration`;
  if (length === 0) return;
  if (length === 1) log.warn(`1 warning about the configuration: ${warnings[0]}`);
  else if (path === null) log.warn({ warnings }, told);
  else log.warn(`${told}: "${checkCommand(settings)}" prints them`);
}

function warnOfSecrets(log: Logger, { secrets }: Settings): void {
  if (secrets.some(({ length }) => length < safeLength))
    log.warn(`a secret is shorter than ${safeLength} characters: who guesses it can make tokens of any user`);
}

/** Whose word there is for what was recorded last. */
function unsignedWarning(size: number, count: number, upgradedFrom: number | null): string {
  const which = count === 1 ? `1 event, ${size}, follows` : `${count} events, ${size - count + 1} to ${size}, follow`;
  const why = upgradedFrom === null ? '' : `: log.db had format ${upgradedFrom}, where nothing says who wrote them`;
  return `${which} the last checkpoint that a key of vault.db signed${why}`;
}

function checkCommand({ config, site }: Settings): string {
  if (site !== null) return `annals config check --site ${site}`;
  return `annals config check${config === undefined ? '' : ` --config ${config}`}`;
}

function openKeeper(
  { vault }: Directory,
  { collections, bcryptCost, rateLimit }: Model,
  others: Pick<Parameters<typeof createKeeper>[0], 'now' | 'isOneOfMany' | 'onMail' | 'onDraftFailure' | 'onSwapped'>,
): MainKeeper {
  const rules = new Map([...collections].flatMap(([slug, { auth }]) => (auth ? [[slug, auth]] : [])));
  return createKeeper({ vault, rules, bcryptCost, rateLimit, ...others });
}

function erasurePortOf(
  { settle, obstacle }: ErasureWorker,
  { neededBeside }: BlobGuard,
  mailer: Mailer | null,
): ErasurePort {
  return {
    settle,
    obstacle: async (position) => obstacle(position),
    neededBeside,
    countMails: async (emails) => mailer?.caught?.count(emails) ?? 0,
    forgetMails: async (emails) => mailer?.caught?.forget(emails),
  };
}

/** What threads are given of the settings and of what is secret. */
function sharedOf(settings: Settings, directory: Directory) {
  const { isProduction, baseUrl } = settings;
  const { apiKeys, secrets, vault } = directory;
  const operatorHash = hash('sha256', vault.secret(operatorSecret), 'buffer');
  return {
    apiKeys,
    secrets,
    operatorHash,
    attemptSecret: vault.secret('attempts'),
    isProduction,
    site: settings.site,
    baseUrl: baseUrl ?? null,
    toldOrigins: createToldOrigins(),
    blobs: blobSettingsOf(settings),
  };
}

/** In a thread of its own where that can load the configuration: functions of an object do not pass between threads. */
async function describeService(api: Api, { model, path }: Options['loaded'], shared: Shared): Promise<Made> {
  if (path !== null) return generateOpenApiInWorker(api, path, shared);
  const { generateOpenApi } = await import('./generate-openapi.ts');
  return generateOpenApi(api, model, shared);
}

function sweep(keeper: MainKeeper, { accounts, log }: OpenApp): void {
  const { missing, swapped } = keeper.sweep(accounts.credentials());
  if (swapped > 0) {
    log.error(
      `passwords whose hash in vault.db is not the one that was set: ${swapped}; nobody can log in by them, and annals verify ` +
        'names the first account',
    );
  }
  if (missing === 0) return;
  log.warn(
    `passwords that vault.db lacks: ${missing}; these accounts need new ones to log in. Is it the vault.db of this log?`,
  );
}

function openMailer(
  { smtpUrl, mailFrom: from, isProduction }: Settings,
  { email }: Model,
  log: Logger,
): Promise<Mailer> {
  return openMail({ email, smtpUrl, from, isProduction, log });
}

type Token = MainKeeper['token'];
type MailOptions = { app: OpenApp; mailer: Mailer; baseUrl: string; token: Token };

function startMail({ app, mailer, baseUrl, token }: MailOptions): Mail {
  const { model, site, accounts, userOf, appendAnyway: append, log, clock } = app;
  const reactor = startReactor({
    model,
    baseUrl,
    site,
    accounts,
    userOf,
    token,
    append,
    mailer,
    log,
    now: clock.believed,
  });
  async function close(): Promise<void> {
    await reactor.close();
    await mailer.close();
  }
  return { wake: reactor.wake, close };
}

function setupUrlOf(app: OpenApp, baseUrl: string, token: Token): string | null {
  const slug = String(app.model.adminCollection);
  const target = app.collections.get(slug);
  if (!target || hasUsers(target)) return null;
  const text = token('setup', slug, setupTokenId(app, slug));
  return `${baseUrl}/account/${slug}/setup?token=${text}${app.site === null ? '' : `&site=${app.site}`}`;
}
