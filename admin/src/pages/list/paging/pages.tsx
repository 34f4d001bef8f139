import { ActionIcon, NativeSelect } from '@mantine/core';
import type { Page } from '../../../../../client/index.ts';
import { Icon } from '../../../theme/icons.tsx';
import { useLanguage, useWords } from '../../../words/index.ts';
import type { ListState, Row } from '../view/use-list.ts';
import { pageSizes } from '../view/view.ts';
import { pageNumbers } from './page-numbers.ts';
import styles from './pages.module.css';

/** The place in the list, and the links to its other pages. */
export function Pages({ state, page }: { state: ListState; page: Page<Row> }) {
  const { list } = useWords();
  const language = useLanguage();
  const shown = (count: number) => count.toLocaleString(language);
  const from = (page.page - 1) * page.limit + 1;
  const to = from + page.docs.length - 1;
  const go = (number: number) => state.change({ page: number });
  return (
    <div className={styles.pages}>
      <span role="status">{list.rows(shown(from), shown(to), shown(page.total))}</span>
      <NativeSelect
        size="xs"
        aria-label={list.perPage}
        value={String(state.limit)}
        data={[...new Set([...pageSizes, state.limit])].sort((one, other) => one - other).map(String)}
        onChange={(event) => state.change({ limit: Number(event.currentTarget.value) })}
      />
      {page.totalPages > 1 && (
        <nav className={styles.numbers} aria-label={list.pages}>
          <Arrow icon="left" label={list.previous} to={page.prevPage} go={go} />
          {pageNumbers(page.page, page.totalPages).map((number) =>
            number < 0 ? (
              <span key={number} className={styles.gap} aria-hidden="true">
                …
              </span>
            ) : (
              <button
                key={number}
                type="button"
                aria-label={list.page(number)}
                aria-current={number === page.page ? 'page' : undefined}
                onClick={() => go(number)}
              >
                {shown(number)}
              </button>
            ),
          )}
          <Arrow icon="right" label={list.next} to={page.nextPage} go={go} />
        </nav>
      )}
    </div>
  );
}

type ArrowProps = { icon: 'left' | 'right'; label: string; to: number | null; go: (page: number) => void };

function Arrow({ icon, label, to, go }: ArrowProps) {
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={label}
      disabled={to === null}
      onClick={() => to !== null && go(to)}
    >
      <Icon name={icon} size={16} />
    </ActionIcon>
  );
}
