import { useEffect, useState } from 'react';

import { useLanguage, useWords } from '../../../words/index.ts';
import styles from '../editor/editor.module.css';
import type { EditorView } from '../editor/use-editor.ts';
import { sinceOf } from '../facts/since.ts';
import { useFormStateOf } from '../form/context.ts';

/** The band that says that a draft was brought back. */
export function DraftBand({ editor }: { editor: EditorView }) {
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
        {words.draftRestored(sinceOf(editor.draft.updatedAt, language, words))}
        {editor.isOlder && ` · ${words.draftOlder}`}
      </span>
      <button type="button" onClick={editor.discard}>
        {words.discard}
      </button>
    </div>
  );
}
