import { useEffect, useId, useRef, useState, useSyncExternalStore } from 'react';
import { ApiError } from '../../../../../client/index.ts';
import { tell, tellError, warn } from '../../../parts/toast.ts';
import { useModel } from '../../../service/model.tsx';
import { forget } from '../../../service/queries.ts';
import { accountNow, nameOf } from '../../../service/session.ts';
import { useWords } from '../../../words/index.ts';
import { type Conflict, conflictOf } from '../conflict/conflict.ts';
import type { FormPlace } from '../form/context.ts';
import { saidAtFields } from '../form/problems.ts';
import type { Values } from '../form/values.ts';
import { failureText } from '../save/failure.ts';
import { focusFirstProblem } from '../save/focus.ts';
import { needsReason, slugOf } from '../save/subject.ts';
import { type Opening, openEditor } from './open-editor.ts';

type Options = Opening & Pick<FormPlace, 'Level' | 'CreateDrawer'> & { onCreated: (document: Values) => void };

/** The parts of a form that the parts of its page need. */
export type EditorView = ReturnType<typeof useEditor>;

/** The form of a page: opened once, saved, kept, and never lost. */
export function useEditor({ onCreated, Level, CreateDrawer, ...opening }: Options) {
  const { form: words } = useWords();
  const model = useModel();
  const [editor] = useState(() => openEditor(opening));
  const isSaving = useSyncExternalStore(editor.onSaving, editor.isSaving);
  const [reason, setReason] = useState('');
  const [reasonProblem, setReasonProblem] = useState<string>();
  const [failure, setFailure] = useState<{ text: string; unseen: { field: string; message: string }[] } | null>(null);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const { form, saver, keeper, root, subject } = editor;
  const id = useId();
  const place: FormPlace = {
    form,
    id,
    slug: slugOf(subject),
    isNew: opening.read === null,
    isReadOnly: opening.isReadOnly,
    Level,
    CreateDrawer,
  };

  useKept(editor, opening);

  /** Shows what was refused: at the fields that are there, and above the form what has no place in it. */
  async function refuse(error: unknown): Promise<void> {
    // The login that opens over the form says it.
    if (error instanceof ApiError && error.status === 401) return;
    const text = failureText(error, words, model.limits.body, form.values());
    const errors = error instanceof ApiError ? error.errors : [];
    const about = errors.find(({ field }) => field === 'x-change-reason');
    setReasonProblem(about?.message);
    const ofFields = saidAtFields(
      form.fields,
      form.values(),
      errors.filter((one) => one !== about && one.field !== ''),
    );
    form.refuse(ofFields);
    if (ofFields.length > 0) warn(words.fieldsWrong(ofFields.length));
    const unseen = await focusFirstProblem(root.current, ofFields);
    setFailure(ofFields.length > 0 && unseen.length === 0 ? null : { text, unseen });
  }

  async function save(): Promise<void> {
    if (opening.isReadOnly || conflict !== null) return;
    if (needsReason(subject) && reason.trim() === '' && (form.isChanged() || place.isNew)) {
      setReasonProblem(words.reasonNeeded);
      document.getElementById(`${id}-reason`)?.focus();
      return;
    }
    return run();
  }

  async function run(): Promise<void> {
    setReasonProblem(undefined);
    // Null: another one is under way, and this one comes after it.
    const outcome = await saver.save(reason.trim() || undefined);
    if (outcome?.kind === 'nothing') tell(words.nothingToSave);
    if (outcome?.kind === 'unfinished') return showUnfinished();
    if (outcome?.kind === 'failed') {
      const { error } = outcome;
      return error instanceof ApiError && error.status === 412 ? meet(error) : refuse(error);
    }
    if (outcome?.kind === 'saved') return finish(outcome);
  }

  async function finish({ document: saved, isNew }: { document: Values; isNew: boolean }): Promise<void> {
    setFailure(null);
    setReason('');
    editor.draftBase.current = {};
    tell(isNew ? words.created : words.saved);
    if (isNew) await editor.handOver(String(saved.id));
    else void keeper.settle();
    void forget(slugOf(subject));
    if (isNew) onCreated(saved);
  }

  async function showUnfinished(): Promise<void> {
    const wrong = [...form.problems().keys()].map((field) => ({ field, message: '' }));
    warn(words.fieldsWrong(Math.max(1, wrong.length)));
    await focusFirstProblem(root.current, wrong);
  }

  /** Somebody else has saved another version. Where that touches nothing of what is here, the save goes on over it. */
  async function meet(error: ApiError): Promise<void> {
    try {
      const met = await conflictOf(editor, error, model.audit.has('headers'));
      if (met.differences.some((one) => one.isConflict || one.isTheirs)) return setConflict(met);
      takeOver(met, {});
      await (form.isChanged() ? run() : finish({ document: met.now.document, isNew: false }));
    } catch (failed) {
      await refuse(failed);
    }
  }

  /** Goes on from the version that is there now, with the fields that were chosen of it. */
  function takeOver({ now }: Conflict, chosen: Values): void {
    editor.draftBase.current = {};
    form.rebase(now.document);
    form.replace(chosen);
    saver.setEtag(now.etag);
  }

  return {
    ...editor,
    place,
    id,
    isSaving,
    reason,
    reasonProblem,
    setReason,
    failure,
    conflict,
    save: () => void save().catch(tellError),
    closeConflict: () => setConflict(null),
    /** Saves what was chosen. */
    resolve(chosen: Values): void {
      if (conflict === null) return;
      takeOver(conflict, chosen);
      setConflict(null);
      void (form.isChanged() ? run() : finish({ document: conflict.now.document, isNew: false })).catch(tellError);
    },
    /** Gives up what was typed. */
    discard(): void {
      form.reset();
      // A draft of an older version brought the tag of that one along; the form now holds what was read.
      if (editor.isOlder && saver.etag() === editor.draftTag) saver.setEtag(opening.read?.etag);
      editor.draftBase.current = {};
      setFailure(null);
      void keeper.settle();
      void forget(slugOf(subject));
      tell(words.discarded);
    },
  };
}

/** Keeps what is typed when the page is left, and holds the tab while something is not kept. */
function useKept({ form, keeper }: ReturnType<typeof openEditor>, { account, found, isReadOnly }: Opening): void {
  const { form: words } = useWords();
  const said = useRef(words.draftKept);
  said.current = words.draftKept;
  useEffect(() => {
    if (isReadOnly) return;
    if (found === null) form.begin();
    const flush = () => void keeper.flush();
    const hold = (event: BeforeUnloadEvent) => {
      const isAtRisk = keeper.state() === 'waiting' || keeper.state() === 'failed';
      if (isAtRisk && form.isTyped()) event.preventDefault();
    };
    const onHidden = () => document.visibilityState === 'hidden' && flush();
    addEventListener('pagehide', flush);
    document.addEventListener('visibilitychange', onHidden);
    addEventListener('beforeunload', hold);
    return () => {
      removeEventListener('pagehide', flush);
      document.removeEventListener('visibilitychange', onHidden);
      removeEventListener('beforeunload', hold);
      const now = accountNow();
      // A user who logs out leaves nothing here.
      if (now !== null && form.isTyped()) {
        flush();
        if (nameOf(now) === nameOf(account)) tell(said.current);
      }
      keeper.close();
    };
  }, [form, keeper, account, found, isReadOnly]);
}
