import { useState } from 'react';
import { ApiError } from '../../../../../client/index.ts';
import { tell, tellError } from '../../../parts/toast.ts';
import { useModel } from '../../../service/model.tsx';
import { forget } from '../../../service/queries.ts';
import { useWords } from '../../../words/index.ts';
import { type Conflict, conflictOf } from '../conflict/conflict.ts';
import type { Values } from '../form/values.ts';
import { needsReason, slugOf } from '../save/subject.ts';
import { type Editor, handOver } from './open-editor.ts';
import type { useRefusal } from './use-refusal.ts';

type Options = {
  /** The id of the control for the reason. */
  reasonId: string;
  isNew: boolean;
  isReadOnly: boolean;
  onCreated: (document: Values) => void;
};

/** Saves a form with the reason given, and deals with each outcome. */
export function useSaving(editor: Editor, refusal: ReturnType<typeof useRefusal>, options: Options) {
  const { form: words } = useWords();
  const { audit } = useModel();
  const [reason, setReason] = useState('');
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const { form, saver, subject } = editor;

  async function save(): Promise<void> {
    if (options.isReadOnly || conflict !== null) return;
    if (needsReason(subject) && reason.trim() === '' && (form.isChanged() || options.isNew)) {
      refusal.setReasonProblem(words.reasonNeeded);
      document.getElementById(options.reasonId)?.focus();
      return;
    }
    return run();
  }

  async function run(): Promise<void> {
    refusal.setReasonProblem(undefined);
    // Null: another save is under way, and this one follows it.
    const outcome = await saver.save(reason.trim() || undefined);
    if (outcome?.kind === 'nothing') tell(words.nothingToSave);
    if (outcome?.kind === 'unfinished') return refusal.showUnfinished();
    if (outcome?.kind === 'saved') return finish(outcome);
    if (outcome?.kind !== 'failed') return;
    const { error } = outcome;
    return error instanceof ApiError && error.status === 412 ? meet(error) : refusal.refuse(error);
  }

  async function finish({ document: saved, isNew }: { document: Values; isNew: boolean }): Promise<void> {
    refusal.clearFailure();
    setReason('');
    editor.draftBase.current = {};
    tell(isNew ? words.created : words.saved);
    if (isNew) await handOver(editor, String(saved.id));
    else void editor.autosave.settle();
    void forget(slugOf(subject));
    if (isNew) options.onCreated(saved);
  }

  /** Meets a version that was saved meanwhile. If the form agrees with its changes, saves on top of it. */
  async function meet(error: ApiError): Promise<void> {
    try {
      const met = await conflictOf(editor, error, audit.has('headers'));
      if (met.differences.some((one) => one.isConflict || one.isTheirs)) setConflict(met);
      else await goOn(met, {});
    } catch (failed) {
      await refusal.refuse(failed);
    }
  }

  /** Continues from the current version, with the values of it that were chosen. */
  async function goOn({ now }: Conflict, chosen: Values): Promise<void> {
    editor.draftBase.current = {};
    form.rebase(now.document);
    form.replace(chosen);
    saver.setEtag(now.etag);
    await (form.isChanged() ? run() : finish({ document: now.document, isNew: false }));
  }

  /** Saves with the choices of the conflict dialog. */
  function resolve(chosen: Values): void {
    if (conflict === null) return;
    setConflict(null);
    void goOn(conflict, chosen).catch(tellError);
  }

  const closeConflict = () => setConflict(null);
  return { reason, setReason, conflict, closeConflict, resolve, save: () => void save().catch(tellError) };
}
