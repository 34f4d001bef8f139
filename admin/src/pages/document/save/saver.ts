import { ApiError } from '../../../../../client/errors.ts';
import { createBody, updateBody } from '../form/bodies.ts';
import type { Form } from '../form/store.ts';
import { isObject, isUnparsed, type Values } from '../form/values.ts';

type Answer = { document: Values; etag: string | undefined };

/** The outcome of a save; `nothing`: there was nothing to save, `unfinished`: the text of a control is no value yet. */
type Outcome =
  | { kind: 'saved'; document: Values; isNew: boolean; isPublication: boolean }
  | { kind: 'nothing' }
  | { kind: 'unfinished' }
  | { kind: 'failed'; error: unknown };

type Writing = { ifMatch?: string; idempotencyKey: string; reason?: string; isPublication?: true };

/** Whether a save publishes too. */
type Wish = { isPublication?: boolean };

type Deps = {
  form: Form;
  isNew: boolean;
  /** The tag of the version that was read. */
  etag: string | undefined;
  write: (body: Values, options: Writing) => Promise<Answer>;
  /** The top-level field that has the focus. */
  focused: () => string | null;
  newKey: () => string;
  /** Told what is under way; null: nothing. */
  onState: (running: 'save' | 'publish' | null) => void;
};

/**
 * Saves a form: one save at a time; a save that is requested meanwhile follows. A save without an answer is sent again
 * with the same idempotency key, so that it is done once.
 */
export function openSaver({ form, isNew, write, focused, newKey, onState, ...deps }: Deps) {
  let etag = deps.etag;
  let isCreated = !isNew;
  let running: Promise<Outcome> | null = null;
  let wished: Wish | null = null;
  /** A save that may have been done: its request as text, and its idempotency key. */
  let unanswered: { print: string; key: string } | null = null;

  async function saveOnce(reason: string | undefined, { isPublication = false }: Wish): Promise<Outcome> {
    const values = form.values();
    const body = isCreated ? updateBody(form.fields, values, form.base()) : createBody(form.fields, values);
    if (form.hasLocalProblem() || holdsUnparsed(body)) return { kind: 'unfinished' };
    if (isCreated && !isPublication && Object.keys(body).length === 0) return { kind: 'nothing' };
    const print = JSON.stringify([body, etag, reason, isPublication]);
    const key = unanswered?.print === print ? unanswered.key : newKey();
    unanswered = { print, key };
    const wasNew = !isCreated;
    try {
      const answer = await write(body, {
        idempotencyKey: key,
        ...(etag === undefined || wasNew ? {} : { ifMatch: etag }),
        ...(reason === undefined ? {} : { reason }),
        ...(isPublication ? { isPublication } : {}),
      });
      unanswered = null;
      isCreated = true;
      etag = answer.etag;
      form.saved(answer.document, values, focused());
      return { kind: 'saved', document: answer.document, isNew: wasNew, isPublication };
    } catch (error) {
      if (!isUnanswered(error)) unanswered = null;
      return { kind: 'failed', error };
    }
  }

  async function save(reason: string | undefined, wish: Wish): Promise<Outcome> {
    onState(wish.isPublication ? 'publish' : 'save');
    try {
      let outcome = await saveOnce(reason, wish);
      // A save that was requested meanwhile; not after a create, which leads to another page.
      while (wished !== null && outcome.kind === 'saved' && !outcome.isNew) {
        const next = wished;
        wished = null;
        onState(next.isPublication ? 'publish' : 'save');
        const done = await saveOnce(reason, next);
        if (done.kind !== 'nothing') outcome = done;
      }
      return outcome;
    } finally {
      wished = null;
      running = null;
      onState(null);
    }
  }

  return {
    etag: () => etag,
    /** Sets the tag of another version, on which the next save is based. */
    setEtag(next: string | undefined): void {
      etag = next;
    },
    isRunning: () => running !== null,
    /** Saves, and publishes if that is wished; null if another save is under way, which this one follows. */
    save(reason?: string, wish: Wish = {}): Promise<Outcome> | null {
      if (running !== null) {
        if (wish.isPublication || wished === null) wished = wish;
        return null;
      }
      running = save(reason, wish);
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
