import { useWords } from '../words/index.ts';
import styles from './status.module.css';

/** The status of a document with drafts: a mark and a word. */
export function StatusMark({ status }: { status: 'published' | 'changed' | 'draft' }) {
  const { drafts } = useWords();
  return (
    <span className={`${styles.status} ${styles[status]}`} data-status={status}>
      <span className={styles.dot} />
      {drafts.statuses[status]}
    </span>
  );
}
