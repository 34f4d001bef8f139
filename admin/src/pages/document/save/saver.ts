import { ApiError } from '../../../../../client/errors.ts';
import { createBody, updateBody } from '../form/bodies.ts';
import type { Form } from '../form/store.ts';
import { isObject, isUnparsed, type Values } from '../form/values.ts';

type Answer = { document: Values; etag: string | undefined };

/** The outcome of a save; `nothing`: there was nothing to save, `unfinished`: the text of a control is no value yet. */
type Outcome =
  | { kind: 'saved'; document: Values; isNew: boolean }
  | { kind: 'nothing' }
  | { kind: 'unfinished' }
  | { kind: 'failed'; error: unknown };

type Deps = {
  form: Form;
  isNew: boolean;
  /** The tag of the version that was read. */
  etag: string | undefined;
  write: (body: Values, options: { ifMatch?: string; idempotencyKey: string; reason?: string }) => Promise<Answer>;
  /** The top-level field that has the focus. */
  focused: () => string | null;
  newKey: () => string;
  onState: (isSaving: boolean) => void;
};

/**
 * Saves a form: one save at a time; a save that is requested meanwhile follows. A save without an answer is sent again
 * with the same idempotency key, so that it is done once.
 */
export function openSaver({ form, isNew, write, focused, newKey, onState, ...deps }: Deps) {
  let etag = deps.etag;
  let isCreated = !isNew;
  let running: Promise<Outcome> | null = null;
  let isWished = false;
  /** A save that may have been done: its request as text, and its idempotency key. */
  let unanswered: { print: string; key: string } | null = null;

  async function saveOnce(reason: string | undefined): Promise<Outcome> {
    const values = form.values();
    const body = isCreated ? updateBody(form.fields, values, form.base()) : createBody(form.fields, values);
    if (form.hasLocalProblem() || holdsUnparsed(body)) return { kind: 'unfinished' };
    if (isCreated && Object.keys(body).length === 0) return { kind: 'nothing' };
    const print = JSON.stringify([body, etag, reason]);
    const key = unanswered?.print === print ? unanswered.key : newKey();
    unanswered = { print, key };
    const wasNew = !isCreated;
    try {
      const answer = await write(body, {
        idempotencyKey: key,
        ...(etag === undefined || wasNew ? {} : { ifMatch: etag }),
        ...(reason === undefined ? {} : { reason }),
      });
      unanswered = null;
      isCreated = true;
      etag = answer.etag;
      form.saved(answer.document, values, focused());
      return { kind: 'saved', document: answer.document, isNew: wasNew };
    } catch (error) {
      if (!isUnanswered(error)) unanswered = null;
      return { kind: 'failed', error };
    }
  }

  async function save(reason: string | undefined): Promise<Outcome> {
    onState(true);
    try {
      let outcome = await saveOnce(reason);
      // A save that was requested meanwhile; not after a create, which leads to another page.
      while (isWished && outcome.kind === 'saved' && !outcome.isNew) {
        isWished = false;
        const next = await saveOnce(reason);
        if (next.kind !== 'nothing') outcome = next;
      }
      return outcome;
    } finally {
      isWished = false;
      running = null;
      onState(false);
    }
  }

  return {
    etag: () => etag,
    /** Sets the tag of another version, on which the next save is based. */
    setEtag(next: string | undefined): void {
      etag = next;
    },
    isRunning: () => running !== null,
    /** Saves; null if another save is under way, which this one follows. */
    save(reason?: string): Promise<Outcome> | null {
      if (running !== null) {
        isWished = true;
        return null;
      }
      running = save(reason);
      return running;
    },
  };
}

/** Whether a save may have been done in spite of an error. */
function isUnanswered(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status >= 500);
}

function holdsUnparsed(value: unknown): boolean {
  if (isUnparsed(value)) return true;
  if (Array.isArray(value)) return value.some(holdsUnparsed);
  return isObject(value) && Object.values(value).some(holdsUnparsed);
}
