import { useId, useState, useSyncExternalStore } from 'react';
import { tell } from '../../../parts/toast.ts';
import { forget } from '../../../service/queries.ts';
import { useWords } from '../../../words/index.ts';
import type { FormPlace } from '../form/context.ts';
import type { Values } from '../form/values.ts';
import { slugOf } from '../save/subject.ts';
import { type Opening, openEditor } from './open-editor.ts';
import { useLeaving } from './use-leaving.ts';
import { useRefusal } from './use-refusal.ts';
import { useSaving } from './use-saving.ts';

type Options = Opening & Pick<FormPlace, 'Level' | 'CreateDrawer'> & { onCreated: (document: Values) => void };

/** The editor of a page, as the components of the page use it. */
export type EditorView = ReturnType<typeof useEditor>;

/** The form of a page: it is opened once and saved, and its unsaved changes are kept. */
export function useEditor({ onCreated, Level, CreateDrawer, ...opening }: Options) {
  const { form: words } = useWords();
  const [editor] = useState(() => openEditor(opening));
  const { form, saver, autosave, subject } = editor;
  const running = useSyncExternalStore(editor.onRunning, editor.running);
  const id = useId();
  const { isReadOnly } = opening;
  const isNew = opening.read === null;
  const place: FormPlace = { form, id, slug: slugOf(subject), isNew, isReadOnly, Level, CreateDrawer };
  const refusal = useRefusal(editor);
  const saving = useSaving(editor, refusal, { reasonId: `${id}-reason`, isNew, isReadOnly, onCreated });
  useLeaving(editor, opening);

  /** Discards the unsaved changes. */
  function discard(): void {
    form.reset();
    // Unsaved changes of an older version came with the tag of that version; the form now holds the version just read.
    if (editor.isOlder && saver.etag() === editor.draftTag) saver.setEtag(opening.read?.etag);
    editor.draftBase.current = {};
    refusal.clearFailure();
    void autosave.settle();
    void forget(slugOf(subject));
    tell(words.discarded);
  }

  const { reasonProblem, failure } = refusal;
  return {
    ...editor,
    ...saving,
    place,
    id,
    isSaving: running === 'save',
    isPublishing: running === 'publish',
    reasonProblem,
    failure,
    discard,
  };
}
