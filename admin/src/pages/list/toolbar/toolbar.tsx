import { Button, CloseButton, NativeSelect, TextInput } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useShortcuts } from '../../../shell/shortcuts.tsx';
import { Icon } from '../../../theme/icons.tsx';
import { useWords } from '../../../words/index.ts';
import type { ListState } from '../view/use-list.ts';
import { ColumnsButton } from './columns-button.tsx';
import { ExportButton } from './export-button.tsx';
import styles from './toolbar.module.css';
import { ViewsButton } from './views-button.tsx';

type Picking = { isPicking: boolean; setPicking: (isPicking: boolean) => void };
type Props = { state: ListState; total: number | null; isPhone: boolean; picking: Picking | null };

/** Search, saved views, columns and export of a list. */
export function Toolbar({ state, total, isPhone, picking }: Props) {
  const { list } = useWords();
  return (
    <div className={styles.bar}>
      {state.isSearchable ? <SearchBox state={state} /> : <p className={styles.hint}>{list.noSearchThen}</p>}
      <div className={styles.buttons}>
        {picking !== null && (
          <Button variant="default" size="xs" onClick={() => picking.setPicking(!picking.isPicking)}>
            {picking.isPicking ? list.selectDone : list.select}
          </Button>
        )}
        {isPhone && <SortSelect state={state} />}
        <ViewsButton state={state} />
        <ColumnsButton state={state} />
        <ExportButton state={state} total={total} />
      </div>
    </div>
  );
}

/** The pause in typing before a search, in milliseconds. The next search cancels the one before. */
const pause = 80;

/** The words that a list is searched for. The address changes after a pause in typing. */
function SearchBox({ state }: { state: ListState }) {
  const { list } = useWords();
  const { q } = state.view;
  const [text, setText] = useState(q);
  const input = useRef<HTMLInputElement>(null);
  const sent = useRef(q);
  const { change } = state;
  useShortcuts([{ keys: '/', run: () => input.current?.focus() }]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typed words are sent; those of the address are shown
  useEffect(() => {
    if (text.trim() === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text.trim();
      change({ q: text.trim() }, { replace: true });
    }, pause);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    if (q === sent.current) return;
    sent.current = q;
    setText(q);
  }, [q]);
  return (
    <TextInput
      ref={input}
      type="search"
      className={styles.search}
      aria-label={list.search(state.collection.plural)}
      placeholder={list.search(state.collection.plural)}
      maxLength={200}
      leftSection={<Icon name="search" size={16} />}
      rightSection={
        text === '' ? null : <CloseButton size={24} aria-label={list.clearSearch} onClick={() => setText('')} />
      }
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
}

/** A select for the order of cards, which have no column heads to click on. */
function SortSelect({ state }: { state: ListState }) {
  const { list } = useWords();
  const sortable = state.columns.filter(({ sort }) => sort !== null);
  const data = sortable.flatMap(({ sort, label }) => [
    { value: String(sort), label: `${label}, ${list.ascending}` },
    { value: `-${sort}`, label: `${label}, ${list.descending}` },
  ]);
  const current = state.view.sort ?? '';
  const isKnown = current === '' || data.some(({ value }) => value === current);
  return (
    <NativeSelect
      size="xs"
      className={styles.sort}
      aria-label={list.sort}
      data={[{ value: '', label: list.sortUsual }, ...data, ...(isKnown ? [] : [{ value: current, label: current }])]}
      value={current}
      onChange={(event) => state.change({ sort: event.currentTarget.value || null })}
    />
  );
}
