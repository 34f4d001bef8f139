import { useId, useState, useSyncExternalStore } from 'react';
import { tell } from '../../../parts/toast.ts';
import { forget } from '../../../service/queries.ts';
import { useWords } from '../../../words/index.ts';
import type { FormPlace } from '../form/context.ts';
import type { Values } from '../form/values.ts';
import { slugOf } from '../save/subject.ts';
import { type Opening, openEditor } from './open-editor.ts';
import { useKept } from './use-kept.ts';
import { useRefusal } from './use-refusal.ts';
import { useSaving } from './use-saving.ts';

type Options = Opening & Pick<FormPlace, 'Level' | 'CreateDrawer'> & { onCreated: (document: Values) => void };

/** The parts of a form that the parts of its page need. */
export type EditorView = ReturnType<typeof useEditor>;

/** The form of a page: opened once, saved, kept, and never lost. */
export function useEditor({ onCreated, Level, CreateDrawer, ...opening }: Options) {
  const { form: words } = useWords();
  const [editor] = useState(() => openEditor(opening));
  const { form, saver, autosave, subject } = editor;
  const isSaving = useSyncExternalStore(editor.onSaving, editor.isSaving);
  const id = useId();
  const { isReadOnly } = opening;
  const isNew = opening.read === null;
  const place: FormPlace = { form, id, slug: slugOf(subject), isNew, isReadOnly, Level, CreateDrawer };
  const refusal = useRefusal(editor);
  const saving = useSaving(editor, refusal, { reasonId: `${id}-reason`, isNew, isReadOnly, onCreated });
  useKept(editor, opening);

  /** Gives up what was typed. */
  function discard(): void {
    form.reset();
    // A draft of an older version brought the tag of that one along; the form now holds what was read.
    if (editor.isOlder && saver.etag() === editor.draftTag) saver.setEtag(opening.read?.etag);
    editor.draftBase.current = {};
    refusal.clearFailure();
    void autosave.settle();
    void forget(slugOf(subject));
    tell(words.discarded);
  }

  const { reasonProblem, failure } = refusal;
  return { ...editor, ...saving, place, id, isSaving, reasonProblem, failure, discard };
}
