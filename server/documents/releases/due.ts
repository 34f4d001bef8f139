import Boom from '@hapi/boom';
import { type ResponseToolkit, Server, type ServerInjectOptions } from '@hapi/hapi';
import { DomainError, isForNow } from '../../../config/errors.ts';
import { releaseStream } from '../../../events/facts/catalogue.ts';
import { UnknownOutcomeError } from '../../../events/facts/log.ts';
import { decideReleaseFailure, type ReleaseProblem } from '../../../events/facts/releases.ts';
import type { App, RouteCall } from '../../app.ts';
import { write } from '../write/writes.ts';
import { execute } from './execution.ts';
import type { FoundRelease } from './finding.ts';
import { itemOfError } from './refusals.ts';

/**
 * The end of an attempt at a release that was due. `later`: the service cannot record anything now. `gone`: it is not
 * due any more.
 */
export type DueOutcome = 'published' | 'failed' | 'later' | 'gone';

/** Publishes releases that are due, as the service itself. */
export type DuePublisher = (id: string) => Promise<DueOutcome>;

/** How many problems of a release are recorded. */
const mostProblems = 100;

/**
 * Makes what publishes the releases that are due. Rules, hooks and writes take a request, so each publication is a
 * request to a server that listens nowhere: its caller is the service, and it has no user.
 */
export function openDuePublisher(app: App): DuePublisher {
  const server = new Server();
  const outcomes = new Map<string, Promise<DueOutcome>>();
  server.route({
    method: 'POST',
    path: '/{id}',
    handler: async (request, h: ResponseToolkit) => {
      request.app.ip = '';
      delete request.headers['user-agent'];
      const id = String(request.params.id);
      const outcome = publishDue({ app, request }, id);
      outcomes.set(id, outcome);
      await outcome.catch(() => {});
      return h.response().code(204);
    },
  });
  const credentials = { user: { actor: { type: 'system' } as const, session: null } };
  const asService = { strategy: 'service', credentials } satisfies ServerInjectOptions['auth'];
  return async (id) => {
    await server.inject({ method: 'POST', url: `/${id}`, auth: asService });
    const outcome = outcomes.get(id) ?? Promise.reject(new Error(`the release ${id} was not looked at`));
    outcomes.delete(id);
    return outcome;
  };
}

/** Publishes a release that is due, or records why it cannot be published. */
async function publishDue(call: RouteCall, id: string): Promise<DueOutcome> {
  const { app, request } = call;
  const release = app.releases.find(id);
  if (release?.state !== 'scheduled' || !release.time) return 'gone';
  const { time, version, scheduledBy } = release;
  request.app.rule = 'release';
  const requireVersion = (now: number) => {
    if (now !== version) throw new MovedError();
  };
  try {
    await execute(call, { id, making: null, planned: { at: time.at, by: scheduledBy }, requireVersion });
    return 'published';
  } catch (error) {
    if (error instanceof MovedError) return 'gone';
    if (isPassing(error)) {
      app.log.warn({ err: error, release: id }, 'a release that is due cannot be published now; it is tried again');
      return 'later';
    }
    return fail(call, release, error);
  }
}

/** Thrown if a release has changed since it was found to be due. */
class MovedError extends Error {
  override name = 'MovedError';
}

/** Whether an error is about the state of the service, and not about the release. */
function isPassing(error: unknown): boolean {
  const isOfWriters = error instanceof DomainError && error.code === 'write_conflict';
  return isForNow(error) || isOfWriters || error instanceof UnknownOutcomeError;
}

async function fail(call: RouteCall, release: FoundRelease, error: unknown): Promise<DueOutcome> {
  const { app, request } = call;
  const { id, time, version, scheduledBy } = release;
  if (!(error instanceof DomainError || Boom.isBoom(error)))
    app.log.error({ err: error, release: id }, 'a release could not be published');
  const problems = problemsOf(error, release);
  delete request.app.bulk;
  const outcome = await write<DueOutcome>(call, releaseStream(id), async () => {
    if (app.releases.find(id)?.version !== version) return { decision: null, answer: 'gone' };
    const failure = { at: time?.at ?? app.clock.believed(), by: scheduledBy, problems };
    return { decision: decideReleaseFailure(id, version, failure), answer: 'failed' };
  });
  await app.passwords.mailWaits();
  return outcome;
}

/** The problems without their messages, which may have values of documents in them. */
function problemsOf(error: unknown, { items }: FoundRelease): ReleaseProblem[] {
  const errors = error instanceof DomainError ? error.errors : [];
  const found = errors.flatMap(({ field, code }): ReleaseProblem[] => {
    const [, index, path = null] = /^items\.(\d+)(?:\.(.+))?$/.exec(field) ?? [];
    const item = items[Number(index)];
    return item ? [{ category: item.category, id: item.id, field: path, code }] : [];
  });
  if (found.length > 0) return found.slice(0, mostProblems);
  const code = error instanceof DomainError ? error.code : Boom.isBoom(error) ? 'hook_refused' : 'internal';
  const item = items[itemOfError(error) ?? 0];
  return item ? [{ category: item.category, id: item.id, field: null, code }] : [];
}
