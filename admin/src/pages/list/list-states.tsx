import { Button } from '@mantine/core';
import type { ApiError } from '../../../../client/index.ts';
import { isOfDrafts } from '../../schema/model.ts';
import { Failure, Notice } from '../../shell/page.tsx';
import { useWords } from '../../words/index.ts';
import { problemOf } from './filter/filter.ts';
import { useChipText } from './filter/use-chip-text.ts';
import styles from './list-page.module.css';
import { NewButton } from './new-button.tsx';
import type { ListState } from './view/use-list.ts';

/** A list without rows: the reason, and a button that helps. */
export function ListEmpty({ state, total }: { state: ListState; total: number }) {
  const { list, drafts } = useWords();
  const { collection, view, filter } = state;
  const chipText = useChipText(state);
  if (total > 0) {
    return (
      <Notice icon="list" title={list.pastEnd}>
        <Button variant="default" onClick={() => state.change({ page: 1 })}>
          {list.firstPage}
        </Button>
      </Notice>
    );
  }
  const conditions = filter.items.map(chipText).join(filter.joint === 'all' ? ` ${list.and} ` : ` ${list.or} `);
  const status = isOfDrafts(collection) && view.status !== null ? drafts.filters[view.status] : '';
  const texts = [view.q === '' || !state.isSearchable ? '' : `“${view.q}”`, status, conditions].filter(Boolean);
  if (texts.length === 0) {
    return (
      <Notice icon="list" title={list.noDocuments(collection.plural)}>
        {collection.hints.description && <p>{collection.hints.description}</p>}
        <NewButton collection={collection} />
      </Notice>
    );
  }
  return (
    <Notice icon="search" title={list.noMatch(collection.plural)}>
      <p className={styles.cause}>{texts.join(', ')}</p>
      <Button variant="default" onClick={() => state.change({ q: '', where: null, status: null })}>
        {list.clearFilters}
      </Button>
    </Notice>
  );
}

type ProblemProps = { state: ListState; error: ApiError; again: () => void };

/**
 * A list that the service refused, with its messages about parameters; messages that a chip shows are not repeated.
 */
export function ListProblem({ state: { filter }, error, again }: ProblemProps) {
  const { list, shared } = useWords();
  const said = filter.items.map((_, index) => problemOf(filter, index, error.errors)).filter((text) => text !== null);
  const others = error.errors.filter(({ message }) => message !== error.message);
  if (said.length > 0 && said.length === error.errors.length) {
    return (
      <Notice icon="warning" title={list.refused}>
        <Button variant="default" onClick={again}>
          {shared.tryAgain}
        </Button>
      </Notice>
    );
  }
  return (
    <div className={styles.problem}>
      <Failure error={error} again={again} />
      {others.length > 0 && (
        <ul>
          {others.map(({ field, message }) => (
            <li key={field}>{message}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
