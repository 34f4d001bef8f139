import { useState } from 'react';
import { ApiError } from '../../../../../client/index.ts';
import { tell, tellError } from '../../../parts/toast.ts';
import { isOfDrafts } from '../../../schema/model.ts';
import { useModel } from '../../../service/model.tsx';
import { forget } from '../../../service/queries.ts';
import { useWords } from '../../../words/index.ts';
import { type Conflict, conflictOf } from '../conflict/conflict.ts';
import type { Values } from '../form/values.ts';
import { configOf, needsReason, slugOf } from '../save/subject.ts';
import { type Editor, handOver } from './open-editor.ts';
import type { useRefusal } from './use-refusal.ts';

type Options = {
  /** The id of the control for the reason. */
  reasonId: string;
  isNew: boolean;
  isReadOnly: boolean;
  onCreated: (document: Values) => void;
};

/** A conflict that the user is asked about; `isPublication`: of a save that was to publish. */
type OpenConflict = Conflict & { isPublication: boolean };

type Finished = { document: Values; isNew: boolean; isPublication: boolean };

/** Saves a form with the reason given, and deals with each outcome. */
export function useSaving(editor: Editor, refusal: ReturnType<typeof useRefusal>, options: Options) {
  const { form: words, drafts } = useWords();
  const { audit } = useModel();
  const [reason, setReason] = useState('');
  const [conflict, setConflict] = useState<OpenConflict | null>(null);
  const { form, saver, subject } = editor;
  const isOfDraft = isOfDrafts(configOf(subject));

  async function save(isPublication: boolean): Promise<void> {
    if ((options.isReadOnly && !isPublication) || conflict !== null) return;
    const isWrite = form.isChanged() || options.isNew || isPublication;
    if (needsReason(subject) && reason.trim() === '' && isWrite) {
      refusal.setReasonProblem(words.reasonNeeded);
      document.getElementById(options.reasonId)?.focus();
      return;
    }
    return run(isPublication);
  }

  async function run(isPublication: boolean): Promise<void> {
    refusal.setReasonProblem(undefined);
    // Null: another save is under way, and this one follows it.
    const outcome = await saver.save(reason.trim() || undefined, { isPublication });
    if (outcome?.kind === 'nothing') tell(words.nothingToSave);
    if (outcome?.kind === 'unfinished') return refusal.showUnfinished();
    if (outcome?.kind === 'saved') return finish(outcome);
    if (outcome?.kind !== 'failed') return;
    const { error } = outcome;
    return error instanceof ApiError && error.status === 412 ? meet(error, isPublication) : refusal.refuse(error);
  }

  async function finish({ document: saved, isNew, isPublication }: Finished): Promise<void> {
    refusal.clearFailure();
    setReason('');
    editor.draftBase.current = {};
    tell(doneText({ isNew, isPublication }));
    if (isNew) await handOver(editor, String(saved.id));
    else void editor.autosave.settle();
    void forget(slugOf(subject));
    if (isNew) options.onCreated(saved);
  }

  function doneText({ isNew, isPublication }: Omit<Finished, 'document'>): string {
    if (isPublication) return drafts.isPublished;
    if (isOfDraft) return isNew ? drafts.draftCreated : drafts.draftSaved;
    return isNew ? words.created : words.saved;
  }

  /** Meets a version that was saved meanwhile. If the form agrees with its changes, saves on top of it. */
  async function meet(error: ApiError, isPublication: boolean): Promise<void> {
    try {
      const met = { ...(await conflictOf(editor, error, audit.has('headers'))), isPublication };
      if (met.differences.some((one) => one.isConflict || one.isTheirs)) setConflict(met);
      else await goOn(met, {});
    } catch (failed) {
      await refusal.refuse(failed);
    }
  }

  /** Continues from the current version, with the values of it that were chosen. */
  async function goOn({ now, isPublication }: OpenConflict, chosen: Values): Promise<void> {
    editor.draftBase.current = {};
    form.rebase(now.document);
    form.replace(chosen);
    saver.setEtag(now.etag);
    if (form.isChanged() || isPublication) await run(isPublication);
    else await finish({ document: now.document, isNew: false, isPublication });
  }

  /** Saves with the choices of the conflict dialog. */
  function resolve(chosen: Values): void {
    if (conflict === null) return;
    setConflict(null);
    void goOn(conflict, chosen).catch(tellError);
  }

  const closeConflict = () => setConflict(null);
  return {
    reason,
    setReason,
    conflict,
    closeConflict,
    resolve,
    save: () => void save(false).catch(tellError),
    /** Publishes what is in the form. */
    publish: () => void save(true).catch(tellError),
  };
}
