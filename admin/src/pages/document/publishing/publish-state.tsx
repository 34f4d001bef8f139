import { StatusMark } from '../../../parts/status.tsx';
import { momentOf } from '../../../parts/times.tsx';
import { useLanguage, useWords } from '../../../words/index.ts';
import styles from './publishing.module.css';
import type { Lines } from './use-lines.ts';

/** The status of a document, since when it is public, and a button that shows what is not published. */
export function PublishState({ lines, openChanges }: { lines: Lines; openChanges: () => void }) {
  const { drafts } = useWords();
  const { status, changes, review } = lines;
  const hasChanges = changes !== null && changes.length > 0;
  return (
    <div className={styles.state}>
      <StatusMark status={status} />
      <Since lines={lines} />
      {review !== null && <span data-review={review}>{drafts.reviewIs[review]}</span>}
      {status === 'changed' && hasChanges && (
        <button type="button" className={styles.changes} onClick={openChanges} data-changes={changes.length}>
          {drafts.changes(changes.length)}
        </button>
      )}
      {status === 'draft' && hasChanges && lines.actions.publish && (
        <button type="button" className={styles.changes} onClick={openChanges}>
          {drafts.wouldPublish}
        </button>
      )}
    </div>
  );
}

function Since({ lines: { status, publishedAt, publication } }: { lines: Lines }) {
  const { drafts } = useWords();
  const language = useLanguage();
  const moment = publication?.recordedAt ?? publishedAt;
  const name = publication?.actor.label;
  if (status === 'draft') return <span>{drafts.notPublic}</span>;
  if (moment === null) return null;
  const day = new Date(moment).toLocaleDateString(language, { dateStyle: 'medium' });
  return (
    <span title={momentOf(moment, language)}>{name ? drafts.publicSinceBy(day, name) : drafts.publicSince(day)}</span>
  );
}
