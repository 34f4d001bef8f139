import { useState } from 'react';
import { agoOf } from '../../parts/times.tsx';
import { useLanguage, useWords } from '../../words/index.ts';
import styles from './editor.module.css';
import type { EditorView } from './use-editor.ts';

/** The band that says that a draft was brought back. */
export function DraftBand({ editor }: { editor: EditorView }) {
  const { form: words } = useWords();
  const language = useLanguage();
  const [isGone, setGone] = useState(editor.draft === null || Object.keys(editor.draft.data).length === 0);
  if (isGone || editor.draft === null) return null;
  return (
    <div className={styles.band} role="status" data-draft="restored">
      <span>
        {words.draftRestored(agoOf(editor.draft.updatedAt, language))}
        {editor.isOlder && ` · ${words.draftOlder}`}
      </span>
      <button
        type="button"
        onClick={() => {
          editor.discard();
          setGone(true);
        }}
      >
        {words.discard}
      </button>
    </div>
  );
}
