import { versionOf } from '../../../service/client.ts';
import { openListeners } from '../../../service/listeners.ts';
import { keepHere } from '../../../service/local-changes.ts';
import { type Account, nameOf } from '../../../service/session.ts';
import { openForm } from '../form/store.ts';
import { emptyValues, type Values } from '../form/values.ts';
import { newKey } from '../new-key.ts';
import { publishForm } from '../publishing/calls.ts';
import { openSaver } from '../save/saver.ts';
import {
  fieldsOf,
  type Subject,
  type TaggedDocument,
  tagOf,
  targetName,
  targetOf,
  writeSubject,
} from '../save/subject.ts';
import { openAutosave } from '../unsaved-changes/autosave.ts';
import type { StoredChanges } from '../unsaved-changes/newest.ts';
import { storesOf } from '../unsaved-changes/stores.ts';

/** The arguments with which an editor is opened. */
export type Opening = {
  subject: Subject;
  account: Account;
  /** Null for a document that is not created yet. */
  read: TaggedDocument | null;
  /** Values with which a new document begins. */
  prefill: Values | null;
  draftId: string;
  found: StoredChanges | null;
  isReadOnly: boolean;
};

/** A form, with the functions that save it and keep its unsaved changes. */
export type Editor = ReturnType<typeof openEditor>;

/** Opens the form of a document as it was read, or with its unsaved changes. */
export function openEditor({ subject, account, read, prefill, draftId, found, isReadOnly }: Opening) {
  const fields = fieldsOf(subject);
  const base = read?.document ?? emptyValues(fields);
  const draft = isReadOnly ? null : found;
  const form = openForm(fields, base, { ...base, ...prefill, ...draft?.data });
  const isOlder = draft !== null && read !== null && draft.version !== null && draft.version !== versionOf(read.etag);
  // Unsaved changes of an older version are saved against that version, so that no later change is overwritten unseen.
  const etag = isOlder && draft.version !== null ? tagOf(subject, draft.version) : read?.etag;
  const root: { current: HTMLElement | null } = { current: null };
  const { tell, subscribe } = openListeners();
  let running: 'save' | 'publish' | null = null;

  const saver = openSaver({
    form,
    isNew: read === null,
    etag,
    write: (body, { isPublication = false, ...options }) =>
      isPublication ? publishForm(subject, body, options) : writeSubject(subject, body, options),
    focused: () => focusedField(root.current),
    newKey,
    onState: (next) => {
      running = next;
      tell();
    },
  });
  const formId = newKey();
  const target = targetOf(subject, draftId);
  const stores = storesOf({ account, target, form: formId }, draft);
  const autosave = openAutosave(form, () => versionOf(saver.etag()), stores);
  if (draft !== null) autosave.adopt(stores.adopt, draft.atService);

  return {
    subject,
    account,
    form,
    /** The name of this form, and that of its account and target, among the forms of this browser. */
    formId,
    about: `${nameOf(account)} ${targetName(target)}`,
    saver,
    autosave,
    root,
    draft,
    isOlder,
    /** Values as they were when the unsaved changes were begun. */
    draftBase: { current: draft?.base ?? {} },
    draftTag: etag,
    /** The save or publication that is under way. */
    running: () => running,
    onRunning: subscribe,
  };
}

/** Keeps the text typed since a new document was sent, for the page of that document. */
export async function handOver({ subject, account, form, formId, saver, autosave }: Editor, id: string): Promise<void> {
  autosave.close();
  const changed = form.changedNames();
  if (changed.length > 0) {
    const pick = (values: Values) => Object.fromEntries(changed.map((name) => [name, values[name] ?? null]));
    await keepHere({
      account: nameOf(account),
      target: targetName(targetOf({ ...subject, id } as Subject, '')),
      form: formId,
      data: pick(form.values()),
      base: pick(form.base()),
      version: versionOf(saver.etag()),
      updatedAt: new Date().toISOString(),
      atService: null,
    });
  }
  form.replace(form.base());
  await autosave.settle();
}

/** The top-level field of a form that has the focus; null without one. */
export function focusedField(root: HTMLElement | null): string | null {
  const { activeElement } = document;
  if (root === null || !(activeElement instanceof HTMLElement) || !root.contains(activeElement)) return null;
  const path = activeElement.closest<HTMLElement>('[data-field]')?.dataset.field;
  return path?.split('.', 1)[0] ?? null;
}
