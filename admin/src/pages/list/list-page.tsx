import { useMediaQuery } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import { useParams } from 'wouter';
import type { Collection } from '../../schema/model.ts';
import { useAsOf } from '../../service/as-of.ts';
import { useCollection } from '../../service/model.tsx';
import { NotFound, Page } from '../../shell/page.tsx';
import { useShortcuts } from '../../shell/shortcuts.tsx';
import { useWords } from '../../words/index.ts';
import { BulkBar } from './bulk/bulk-bar.tsx';
import { useSelection } from './bulk/use-selection.ts';
import { FilterBar } from './filter/filter-bar.tsx';
import { StatusFilter } from './filter/status-filter.tsx';
import styles from './list-page.module.css';
import { ListEmpty, ListProblem } from './list-states.tsx';
import { NewButton } from './new-button.tsx';
import { Pages } from './paging/pages.tsx';
import { Cards } from './rows/cards.tsx';
import { moveInRows } from './rows/move.ts';
import { Table } from './rows/table.tsx';
import { Toolbar } from './toolbar/toolbar.tsx';
import { useKeptView, useListState, useRows } from './view/use-list.ts';

/** The list of a collection. */
export function ListPage() {
  const { slug = '' } = useParams();
  const collection = useCollection(slug);
  if (collection === undefined || !collection.access.read) return <NotFound />;
  return <List key={slug} collection={collection} />;
}

function List({ collection }: { collection: Collection }) {
  const words = useWords();
  const asOf = useAsOf();
  const state = useListState(collection);
  useKeptView(state);
  const { data, error, isPlaceholderData, refetch } = useRows(state);
  const selection = useSelection(`${state.view.q} ${JSON.stringify(state.filter)} ${state.view.status} ${asOf}`);
  const [isPicking, setPicking] = useState(false);
  const isPhone = useMediaQuery('(width < 48rem)', undefined, { getInitialValueInEffect: false });
  // biome-ignore lint/correctness/useExhaustiveDependencies: each page of rows begins at its top
  useEffect(() => {
    document.querySelector('#content')?.scrollTo(0, 0);
  }, [state.view.page]);
  useShortcuts([
    { keys: 'j', run: () => moveInRows(1) },
    { keys: 'k', run: () => moveInRows(-1) },
  ]);

  const canChange = asOf === null && !collection.upload && (collection.access.update || collection.access.delete);
  const rows = data?.docs ?? [];
  const shared = {
    state,
    rows,
    selection: canChange ? selection : null,
    isStale: isPlaceholderData,
  };
  return (
    <Page
      title={collection.plural}
      isWide
      about={
        <>
          {data !== undefined && <span className={styles.total}>{words.shared.documents(data.total)}</span>}
          {data !== undefined && collection.hints.description && ' · '}
          {collection.hints.description}
        </>
      }
      actions={<NewButton collection={collection} />}
    >
      <Toolbar
        state={state}
        total={data?.total ?? null}
        isPhone={isPhone}
        picking={canChange && isPhone ? { isPicking, setPicking } : null}
      />
      <div className={styles.filters}>
        <StatusFilter state={state} />
        <FilterBar state={state} errors={error?.errors ?? []} isPhone={isPhone} />
      </div>
      {canChange && <BulkBar state={state} selection={selection} total={data?.total ?? 0} />}
      {state.view.broken !== null ? null : error !== null ? (
        <ListProblem state={state} error={error} again={() => void refetch()} />
      ) : data === undefined ? (
        <Skeleton label={words.list.loadingRows} />
      ) : rows.length === 0 ? (
        <ListEmpty state={state} total={data.total} />
      ) : isPhone ? (
        <Cards {...shared} isPicking={isPicking} setPicking={setPicking} />
      ) : (
        <Table {...shared} />
      )}
      {data !== undefined && error === null && rows.length > 0 && <Pages state={state} page={data} />}
    </Page>
  );
}

const lines = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

/** The placeholder of rows that are slow to come. */
function Skeleton({ label }: { label: string }) {
  return (
    <div className={styles.skeleton} role="status" aria-label={label}>
      {lines.map((line) => (
        <span key={line} />
      ))}
    </div>
  );
}
