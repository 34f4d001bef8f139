import { useEffect, useState, useSyncExternalStore } from 'react';

import { useLanguage, useWords } from '../../../words/index.ts';
import styles from '../editor/editor.module.css';
import type { EditorView } from '../editor/use-editor.ts';
import { sinceOf } from '../facts/since.ts';
import { useFormStateOf } from '../form/context.ts';
import { openNeighbours } from './neighbours.ts';
import type { StoredChanges } from './newest.ts';

/** The band that says that unsaved changes were restored. */
export function RestoredBand({ editor }: { editor: EditorView }) {
  const { form: words } = useWords();
  const language = useLanguage();
  const [isGone, setGone] = useState(editor.draft === null || Object.keys(editor.draft.data).length === 0);
  const isChanged = useFormStateOf(editor.form, (form) => form.isChanged());
  useEffect(() => {
    if (!isChanged) setGone(true);
  }, [isChanged]);
  if (isGone || editor.draft === null) return null;
  return (
    <div className={styles.band} role="status" data-draft="restored">
      <span>
        {words.changesRestored(sinceOf(editor.draft.updatedAt, language, words))}
        {editor.isOlder && ` · ${words.changesOlder}`}
      </span>
      <button type="button" onClick={editor.discard}>
        {words.discard}
      </button>
    </div>
  );
}

type OtherProps = {
  editor: EditorView;
  others: readonly StoredChanges[];
  open: (draft: StoredChanges, left: string) => void;
};

/**
 * Offers unsaved changes of the same document from elsewhere: a closed tab or another device. Those of this form are
 * kept.
 */
export function OtherBand({ editor: { autosave, formId }, others, open }: OtherProps) {
  const { form: words } = useWords();
  const language = useLanguage();
  const [other] = others;
  if (other === undefined) return null;
  const show = async () => {
    await autosave.flush();
    open(other, formId);
  };
  return (
    <div className={styles.band} role="status" data-draft="other">
      <span>{words.otherChanges(sinceOf(other.updatedAt, language, words))}</span>
      <button type="button" onClick={() => void show()}>
        {words.showOther}
      </button>
    </div>
  );
}

/** Says that another tab has the same document open with unsaved changes. */
export function ElsewhereBand({ editor: { form, about, formId } }: { editor: EditorView }) {
  const { form: words } = useWords();
  const isTyped = useFormStateOf(form, (one) => one.isTyped());
  const [neighbours, setNeighbours] = useState<ReturnType<typeof openNeighbours> | null>(null);
  useEffect(() => {
    const opened = openNeighbours(about, formId);
    setNeighbours(opened);
    return opened.close;
  }, [about, formId]);
  useEffect(() => neighbours?.setChanged(isTyped), [neighbours, isTyped]);
  const isElsewhere = useSyncExternalStore(neighbours?.subscribe ?? silent, () => neighbours?.areChanged() ?? false);
  return (
    <div role="status" className={isElsewhere ? styles.band : styles.nothing} data-elsewhere={isElsewhere}>
      {isElsewhere && words.openElsewhere}
    </div>
  );
}

function silent(): () => void {
  return () => undefined;
}
