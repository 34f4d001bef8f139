import { setTimeout as pause } from 'node:timers/promises';
import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { DomainError, inHeader, invalidField } from '../../../config/errors.ts';
import { type Append, UnknownOutcomeError, UnreadError } from '../../../events/facts/log.ts';
import type { App } from '../../app.ts';
import { callerForQuota } from '../../callers/quota-caller.ts';
import { leastSecretKey } from '../../http/headers.ts';
import { requestId } from '../../http/requests.ts';
import type { Replay } from '../../ports.ts';
import { recordOf, refuseOther, sendReplayed } from './idempotency-key.ts';
import { decryptAnswer, encryptAnswer } from './replay-encryption.ts';

/** An answer in JSON. `location`: the address of what was made. */
type OnceAnswer = { status?: number; body: object; location?: string };

type OnceCall<A extends App> = { app: A; request: Request; h: ResponseToolkit; body?: unknown };

type OnceOptions = {
  /** Asks again whether the caller may do such a thing, before an answer is given again. */
  again?: () => Promise<unknown>;
  /** The stream of the document that the answer shows something of: it goes when that is erased. */
  about?: string;
  /** For how long the answer is kept; by default, and at most, an hour. */
  seconds?: number;
  /** Whether the answer has a secret that is valid for longer: then a key is refused that could be guessed. */
  hasSecret?: boolean;
};

const header = 'idempotency-key';
/** For so long, counted from the first request, a second one waits for its answer. */
const waitMilliseconds = 10_000;
const lookMilliseconds = 100;
const hourSeconds = 3600;

/**
 * Runs a request that writes no document at most once for each `Idempotency-Key`: a client that repeats the request
 * gets the first answer again. Of several at once one runs, and the others wait for its answer. A refused request gives
 * its key back. After one that was cut off, so that it is not known what it has done, the key stays reserved.
 *
 * @param call its caller has been admitted, and `body` is valid.
 * @param run does the work, through the service that it is given.
 * @throws DomainError `validation_failed` for a key that is not valid; `idempotency_key_reused` for a key that came
 *   with another request; `idempotency_key_in_use`; `unavailable` if no more answers can be kept.
 */
export async function answerOnce<A extends App>(
  call: OnceCall<A>,
  run: (app: A) => Promise<OnceAnswer>,
  options: OnceOptions = {},
): Promise<ResponseObject> {
  const { app, request, h } = call;
  const record = recordOf({ app, request, body: call.body });
  if (!record) return respond(h, await run(app));
  const sent = String(request.headers[header]);
  if (options.hasSecret) requireLong(sent);
  const secret = { sent, ...record };
  const attempt = requestId(request);
  const asked = {
    ...record,
    attempt,
    ...callerForQuota(app, request),
    about: options.about ?? null,
    seconds: options.seconds ?? hourSeconds,
  };
  const first = await reserved(() => app.replays.reserve(asked), {
    attempt,
    check: (found) => refuseOther(record, found),
  });
  if (first !== null) {
    await options.again?.();
    return sendReplayed(respond(h, JSON.parse(decryptAnswer(first, secret))));
  }
  const answer = await runReserved(app, run, { key: record.key, attempt });
  await stored(app, () => app.replays.keep(record.key, attempt, encryptAnswer(JSON.stringify(answer), secret)));
  return respond(h, answer);
}

/** Reserves a key for a request; gives the answer of another request that has had it, null for the first. */
async function reserved(
  reserve: () => Promise<Replay>,
  { attempt, check }: { attempt: string; check: (found: Replay) => void },
): Promise<string | null> {
  const until = performance.now() + waitMilliseconds;
  for (;;) {
    const found = await reserve();
    if (found.attempt === attempt) return null;
    check(found);
    if (found.answer !== null) return found.answer;
    if (found.age > waitMilliseconds || performance.now() > until) throw inUse();
    await pause(lookMilliseconds);
  }
}

/** Runs a request that has reserved its key. One that has recorded nothing gives it back when it fails. */
async function runReserved<A extends App>(
  app: A,
  run: (app: A) => Promise<OnceAnswer>,
  { key, attempt }: { key: string; attempt: string },
): Promise<OnceAnswer> {
  let mayBeRecorded = false;
  const noting = (append: Append): Append => {
    return async (command) => {
      try {
        const outcome = await append(command);
        if (outcome.ok) mayBeRecorded = true;
        return outcome;
      } catch (error) {
        if (error instanceof UnknownOutcomeError || error instanceof UnreadError) mayBeRecorded = true;
        throw error;
      }
    };
  };
  try {
    return await run({ ...app, append: noting(app.append), appendAnyway: noting(app.appendAnyway) });
  } catch (error) {
    if (!mayBeRecorded) await stored(app, () => app.replays.drop(key, attempt));
    throw error;
  }
}

/** Changes what is kept about a request. If that fails, the request itself has its answer all the same. */
async function stored({ log }: App, change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (err) {
    log.warn({ err }, 'an answer could not be kept: until its hour is over, its idempotency key is refused');
  }
}

function respond(h: ResponseToolkit, { status = 200, body, location }: OnceAnswer): ResponseObject {
  const response = h.response(body).code(status);
  return location === undefined ? response : response.location(location);
}

function requireLong(sent: string): void {
  if (sent.length >= leastSecretKey) return;
  const problem =
    `must have at least ${leastSecretKey} characters here, such as a UUID: the answer has a secret, and is kept ` +
    `encrypted by it; got ${sent.length}`;
  throw invalidField(inHeader(header, 'min_length', { limit: leastSecretKey }), problem);
}

function inUse(): DomainError {
  const message =
    `an earlier request with this ${header} has no answer yet, or was cut off: then it is not known whether it was done. ` +
    'Look whether it was, and send it with another key if not';
  return new DomainError('idempotency_key_in_use', message);
}
