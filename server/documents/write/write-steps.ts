import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import type { Collection, Global } from '../../../config/model.ts';
import type { Current } from '../../../events/facts/documents.ts';
import type { Change } from '../../../events/facts/log.ts';
import { requireCredential } from '../../access/access.ts';
import type { Right } from '../../access/rules.ts';
import type { App, Call, Target } from '../../app.ts';
import type { ReceivedContent, Upload } from '../../files/uploads/receive.ts';
import { isDraftAsked } from '../drafts/asking.ts';
import type { Serializer } from '../read/serialize.ts';
import type { Line } from './current.ts';

/** A request about documents of a target, and how they are shown. */
export type ShownCall = Call & { present: Serializer };

/** How documents of a target are written, prepared once. The steps are taken in this order. */
export type Writable<M extends Collection | Global = Collection | Global> = {
  app: App;
  target: Target<M>;
  present: Serializer;
  /** Refuses a caller before the body is read. */
  beforeBody?: (call: Call, operation: Write['operation']) => Promise<void>;
  read: (request: Request) => Promise<ReceivedContent>;
  steps: readonly ((write: Write) => WriteStep)[];
};

/** A write whose body has been read. */
export type Write = ShownCall & {
  h: ResponseToolkit;
  operation: 'create' | 'update' | 'delete';
  body: unknown;
  /** The file that came with the body. */
  upload: Upload | null;
  /** The body as rules see it: with the values of the file. */
  data: unknown;
  /** The lines that it is about, where there are drafts; null without drafts. */
  lines: WrittenLines | null;
  steps: readonly WriteStep[];
};

/**
 * The lines of a document that a write is about. `addressed` is the line that `If-Match` is held against, `answered`
 * the line that the answer shows; `right` is what the caller needs to get the answer again.
 */
export type WrittenLines = { addressed: Line; answered: Line; right: Right };

/**
 * A decision on a document: `change` is null if the document stays as it is. `version` is the version of its stream
 * before the change; `id` of a global is its slug.
 */
type Decision = { id: string; change: Change | null; version: number };

/**
 * The part of one feature in a write, moment by moment. An error of `repeated`, `admitted` or `beforeAppend` refuses
 * the write. Each write has its own steps, with their own state.
 */
export type WriteStep = {
  /** Once the body is read: gives the answer if there is one already, so that nothing is written. */
  repeated?: () => Promise<ResponseObject | null>;
  /** In each try, once the caller is admitted; `current` is null for a new document. */
  admitted?: (current: Current | null) => Promise<void>;
  /**
   * In each try, once only the log can refuse the write: gives the changes of other streams to record with it.
   */
  beforeAppend?: (decision: Decision) => Promise<Change[]>;
  /** Once the write is recorded. */
  recorded?: () => Promise<void>;
  /** After an error: gives an answer to send in place of the error, or null. */
  failed?: (error: unknown) => Promise<ResponseObject | null>;
  /** At the end, with the error that is sent, or null. */
  ended?: (error: unknown) => Promise<void>;
};

/**
 * Reads the body of a write.
 *
 * @throws DomainError `unauthorized` before the body is read, if a credential is needed; what the reader throws.
 */
export async function receive(writable: Writable, h: ResponseToolkit, operation: Write['operation']): Promise<Write> {
  const { app, target, read, beforeBody } = writable;
  const call = { app, request: h.request, target };
  requireCredential(call, operation);
  await beforeBody?.(call, operation);
  return writeOf(writable, h, { ...(await read(h.request)), operation });
}

/** A write with the steps that its target has. */
export function writeOf(
  { app, target, present, steps }: Writable,
  h: ResponseToolkit,
  { operation, body, upload, data, lines }: ReceivedContent & Pick<Write, 'operation'> & Partial<Pick<Write, 'lines'>>,
): Write {
  const { request } = h;
  const own = lines ?? linesIn({ request, target }, operation);
  const write: Write = { app, request, target, present, h, operation, body, upload, data, lines: own, steps: [] };
  return { ...write, steps: steps.map((step) => step(write)) };
}

function linesIn(call: Pick<Call, 'request' | 'target'>, right: Write['operation']): WrittenLines | null {
  if (!call.target.lines) return null;
  const line = isDraftAsked(call) ? 'draft' : 'public';
  return { addressed: line, answered: line, right };
}

/** Takes a write through its steps. `run` decides, records and answers, and takes the steps between these. */
export async function perform(write: Write, run: (write: Write) => Promise<ResponseObject>): Promise<ResponseObject> {
  let problem: unknown = null;
  try {
    return (await repeated(write)) ?? (await runOrRepeat(write, run));
  } catch (error) {
    problem = error;
    throw error;
  } finally {
    await end(write, problem);
  }
}

/** Ends all steps. An error of one neither stops the others nor changes the answer: the write is recorded already. */
async function end({ app, steps }: Write, problem: unknown): Promise<void> {
  for (const result of await Promise.allSettled(steps.map(async (step) => step.ended?.(problem)))) {
    if (result.status === 'rejected') app.log.error({ err: result.reason }, 'the end of a write failed');
  }
}

async function repeated({ steps }: Write): Promise<ResponseObject | null> {
  for (const step of steps) {
    const answer = await step.repeated?.();
    if (answer) return answer;
  }
  return null;
}

async function runOrRepeat(write: Write, run: (write: Write) => Promise<ResponseObject>): Promise<ResponseObject> {
  try {
    return await run(write);
  } catch (error) {
    for (const step of write.steps) {
      const answer = await step.failed?.(error);
      if (answer) return answer;
    }
    throw error;
  }
}

/** Takes the steps of a caller who is admitted. */
export async function admitted({ steps }: Write, current: Current | null): Promise<void> {
  for (const step of steps) await step.admitted?.(current);
}

/** Takes the last steps before a decision is recorded; gives the changes of other streams. */
export async function beforeAppend({ steps }: Write, decision: Decision): Promise<Change[]> {
  const changes: Change[] = [];
  for (const step of steps) if (step.beforeAppend) changes.push(...(await step.beforeAppend(decision)));
  return changes;
}

/** Takes the steps of a decision that is recorded. */
export async function recorded({ steps }: Write): Promise<void> {
  for (const step of steps) await step.recorded?.();
}
