import { useState } from 'react';
import { ApiError } from '../../../../../client/index.ts';
import { warn } from '../../../parts/toast.ts';
import { useModel } from '../../../service/model.tsx';
import { useLanguage, useWords } from '../../../words/index.ts';
import { saidAtFields } from '../form/problems.ts';
import { failureText } from '../save/failure.ts';
import { focusFirstProblem } from '../save/focus.ts';
import type { Editor } from './open-editor.ts';

/** The reason why a form was not saved, if no field shows it; `unseen`: problems of fields that are not on the page. */
type Failure = { text: string; unseen: { field: string; message: string }[] };

/** Shows why a form was not saved: at its fields, at the reason for a change, and above the form. */
export function useRefusal({ form, root }: Editor) {
  const { form: words } = useWords();
  const language = useLanguage();
  const { limits } = useModel();
  const [reasonProblem, setReasonProblem] = useState<string>();
  const [failure, setFailure] = useState<Failure | null>(null);

  /** Shows an error of the service. */
  async function refuse(error: unknown): Promise<void> {
    // The login dialog that opens over the form says so.
    if (error instanceof ApiError && error.status === 401) return;
    const text = failureText(error, { form: words, language }, { values: form.values(), limit: limits.body });
    const errors = error instanceof ApiError ? error.errors : [];
    const ofReason = errors.find(({ field }) => field === 'x-change-reason');
    setReasonProblem(ofReason?.message);
    const others = errors.filter((one) => one !== ofReason && one.field !== '');
    const ofFields = saidAtFields(form.fields, form.values(), others);
    form.refuse(ofFields);
    if (ofFields.length > 0) warn(words.fieldsWrong(ofFields.length));
    const unseen = await focusFirstProblem(root.current, ofFields);
    setFailure(ofFields.length > 0 && unseen.length === 0 ? null : { text, unseen });
  }

  /** Focuses the first control whose text is not a value yet. */
  async function showUnfinished(): Promise<void> {
    const wrong = [...form.problems().keys()].map((field) => ({ field, message: '' }));
    warn(words.fieldsWrong(Math.max(1, wrong.length)));
    await focusFirstProblem(root.current, wrong);
  }

  return { reasonProblem, setReasonProblem, failure, clearFailure: () => setFailure(null), refuse, showUnfinished };
}
