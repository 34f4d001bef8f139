import type { ResponseObject } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { decideNothing } from '../../../events/facts/accounts.ts';
import { splitStream } from '../../../events/facts/catalogue.ts';
import { type FirstAnswer, type IdempotencyRecord, UnknownOutcomeError } from '../../../events/facts/log.ts';
import { authorize, mayRead } from '../../access/access.ts';
import type { Call, RouteCall } from '../../app.ts';
import { replayLine } from '../drafts/replaying.ts';
import { pastOf } from '../past/versions.ts';
import { sendTagged, sendText } from '../read/sending.ts';
import { currentOf, streamOf } from '../write/current.ts';
import { placeOf } from '../write/document-writes.ts';
import type { Write, WriteStep } from '../write/write-steps.ts';
import { RepeatedError } from '../write/writes.ts';
import { writtenText } from '../write/written.ts';
import { hasIdempotencyKey, keyOf, recordOf, refuseOther, sendReplayed } from './idempotency-key.ts';

/**
 * Makes a write happen at most once for each `Idempotency-Key`: a client that repeats the write gets the first answer
 * again. Of two that come at once the log decides which is first; the other one gets the first answer, whatever error
 * it had.
 *
 * A step of writes: `repeated` throws DomainError `validation_failed` for a key that is not valid,
 * `idempotency_key_reused` for a key that came with another request.
 */
export function idempotency(write: Write): WriteStep {
  const { app, request, upload } = write;
  let record: IdempotencyRecord | null = null;

  return {
    async repeated() {
      record = recordOf(write);
      request.app.idempotency = record;
      return record && answerAgain(record, find(record));
    },
    async beforeAppend({ id, change, version }) {
      // A change of nothing is recorded only for the key under which it may be repeated.
      return record && !change ? [decideNothing(streamOf(write.target, id), version)] : [];
    },
    async failed(error) {
      if (!record || error instanceof UnknownOutcomeError) return null;
      return answerAgain(record, error instanceof RepeatedError ? error.first : find(record));
    },
  };

  function find({ key }: IdempotencyRecord): FirstAnswer | null {
    return app.idempotencyRecords.find(key, app.clock.believed());
  }

  async function answerAgain(record: IdempotencyRecord, first: FirstAnswer | null): Promise<ResponseObject | null> {
    if (!first) return null;
    refuseOther(record, first);
    await app.waitUntilReplicated();
    await upload?.hold();
    const response = await replay(write, first);
    // The bytes came once more: a store that has lost them has them again.
    await upload?.keep();
    return response;
  }
}

/** Whether a write was recorded under the key of a request; it may have been another request. */
export function isRecorded({ app, request }: RouteCall): boolean {
  return hasIdempotencyKey(request) && app.idempotencyRecords.find(keyOf(app, request), app.clock.believed()) !== null;
}

/**
 * Gives the first answer to a write again: the document as it was after the write, or before its deletion. Only the
 * access rules are asked again.
 *
 * @throws DomainError `unauthorized` or `forbidden`; `conflict` if the document as it was has been erased.
 */
async function replay(write: Write, { stream, version }: FirstAnswer): Promise<ResponseObject> {
  if (write.lines) return replayLine(write, stream, version);
  const { target, present, h, operation, data } = write;
  const [, id] = splitStream(stream);
  const past = await thenOf(write, stream, operation === 'delete' ? version - 1 : version);
  if (!past?.document) throw answerErased();
  const { document: fields, position } = past;
  const current = operation === 'create' ? null : currentOf(target, id);
  // A document that is deleted is asked about as it was.
  const subject =
    operation === 'create' || current
      ? { doc: () => current?.document ?? null, data }
      : { doc: () => fields, data, position };
  await authorize(write, operation, subject);
  const document = target.documentOf(id, fields);
  const isReadable = await mayRead(write, document, position);
  const answer = await writtenText(write, document, isReadable);
  const tag = () => present.tag(version, answer, { isStored: isReadable });
  const response = operation === 'delete' ? sendText(h, answer) : sendTagged(h, answer, tag());
  if (operation === 'create') response.location(placeOf(write, id));
  return sendReplayed(response);
}

/** The refusal to give an answer again that is no longer known. */
export function answerErased(): DomainError {
  return new DomainError('erased', 'this was done before, but what the answer was has been erased');
}

/**
 * The state after a write. A global that was never written is its defaults; a write that changed nothing left it so.
 */
async function thenOf(
  { app, target }: Call,
  stream: string,
  version: number,
): Promise<{ document: JsonObject | null; position: number } | null> {
  if (target.defaults && version === 0) return { document: target.defaults(), position: 0 };
  return pastOf(app, stream, { version });
}

/**
 * Runs a write of many documents at most once for each `Idempotency-Key`, as {@link idempotency} does with the write of
 * one.
 *
 * @param again gives the first answer of the bulk call with this id again, if the caller may still do such a thing. The
 * events of the call come after `position`.
 */
export async function once(
  call: Pick<Write, 'app' | 'request' | 'body'>,
  run: () => Promise<ResponseObject>,
  again: (batch: string, position: number) => Promise<ResponseObject>,
): Promise<ResponseObject> {
  const { app, request } = call;
  const record = recordOf(call);
  request.app.idempotency = record;
  if (!record) return run();
  const find = () => app.idempotencyRecords.find(record.key, app.clock.believed());
  const replayed = async (first: FirstAnswer) => {
    refuseOther(record, first);
    await app.waitUntilReplicated();
    const [, batch] = splitStream(first.stream);
    return sendReplayed(await again(batch, first.position));
  };
  const before = find();
  if (before) return replayed(before);
  try {
    return await run();
  } catch (error) {
    if (error instanceof UnknownOutcomeError) throw error;
    const first = error instanceof RepeatedError ? error.first : find();
    if (first) return replayed(first);
    throw error;
  }
}
