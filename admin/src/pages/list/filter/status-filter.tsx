import { isOfDrafts } from '../../../schema/model.ts';
import { useWords } from '../../../words/index.ts';
import type { ListState } from '../view/use-list.ts';
import { statuses } from '../view/view.ts';
import styles from './status-filter.module.css';

/** The buttons that filter a list by status, for users who work on drafts. */
export function StatusFilter({ state }: { state: ListState }) {
  const { drafts } = useWords();
  if (!isOfDrafts(state.collection)) return null;
  const choices = [null, ...statuses];
  return (
    <fieldset className={styles.row} aria-label={drafts.filterBy}>
      {choices.map((status) => (
        <button
          key={status}
          type="button"
          aria-pressed={state.view.status === status}
          onClick={() => state.change({ status })}
        >
          {status === null ? drafts.all : drafts.filters[status]}
        </button>
      ))}
    </fieldset>
  );
}
