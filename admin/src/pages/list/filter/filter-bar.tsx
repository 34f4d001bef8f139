import { Drawer, Popover } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { FieldProblem } from '../../../../../client/index.ts';
import { Icon } from '../../../theme/icons.tsx';
import { useWords } from '../../../words/index.ts';
import type { ListState } from '../view/use-list.ts';
import { type Filter, problemOf, whereOf } from './filter.ts';
import styles from './filter-bar.module.css';
import { FilterPanel } from './filter-panel.tsx';
import { useChipText } from './use-chip-text.ts';

type Props = { state: ListState; errors: readonly FieldProblem[]; isPhone: boolean };

/** The filter of a list: a chip for each condition, and a button that adds one. */
export function FilterBar({ state, errors, isPhone }: Props) {
  const { list, shared } = useWords();
  const { filter } = state;
  const chipText = useChipText(state);
  const set = (next: Filter) => state.change({ where: whereOf(next) });
  const isSet = filter.items.length > 0 || state.view.broken !== null;
  return (
    <div className={styles.bar}>
      {state.view.broken !== null && (
        <p role="alert" className={styles.problem}>
          {list.notAFilter}: <code>{state.view.broken.slice(0, 200)}</code>
        </p>
      )}
      <ul className={styles.chips} aria-label={list.filters}>
        {filter.items.map((item, index) => {
          const text = chipText(item);
          const problem = problemOf(filter, index, errors);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no name but its place
            <li key={index}>
              {index > 0 && <span className={styles.joint}>{filter.joint === 'all' ? list.and : list.or}</span>}
              <span className={problem === null ? styles.chip : `${styles.chip} ${styles.wrong}`}>
                <FilterButton {...{ state, isPhone, index, set }} name={list.editFilter} className={styles.text}>
                  {text}
                </FilterButton>
                <button
                  type="button"
                  className={styles.remove}
                  aria-label={list.removeFilter(text)}
                  title={shared.remove}
                  onClick={() => set({ ...filter, items: filter.items.filter((_, at) => at !== index) })}
                >
                  <Icon name="close" size={14} />
                </button>
              </span>
              {problem !== null && (
                <span role="alert" className={styles.problem}>
                  {problem}
                </span>
              )}
            </li>
          );
        })}
        <li>
          <FilterButton {...{ state, isPhone, set }} index={null} name={list.addFilter} className={styles.add}>
            <Icon name="filter" size={14} />
            {isSet ? list.addFilter : list.filter}
          </FilterButton>
        </li>
        {isSet && (
          <li>
            <button type="button" className={styles.clear} onClick={() => state.change({ where: null })}>
              {list.clearFilters}
            </button>
          </li>
        )}
      </ul>
    </div>
  );
}

type ButtonProps = {
  state: ListState;
  isPhone: boolean;
  /** The place of the condition to change; null: a new condition. */
  index: number | null;
  set: (filter: Filter) => void;
  name: string;
  className: string | undefined;
  children: ReactNode;
};

/** A button that opens the filter panel: below itself, on a phone in a drawer. */
function FilterButton({ state, isPhone, index, set, name, className, children }: ButtonProps) {
  const { shared } = useWords();
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const panel = isOpen && (
    <FilterPanel
      state={state}
      index={index}
      close={close}
      set={(next) => {
        set(next);
        close();
      }}
    />
  );
  const button = (
    <button
      type="button"
      className={className}
      aria-expanded={isOpen}
      aria-haspopup="dialog"
      onClick={() => setOpen(!isOpen)}
    >
      {children}
    </button>
  );
  if (isPhone) {
    return (
      <>
        {button}
        <Drawer
          opened={isOpen}
          onClose={close}
          position="bottom"
          size="30rem"
          title={name}
          closeButtonProps={{ 'aria-label': shared.close }}
        >
          {panel}
        </Drawer>
      </>
    );
  }
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-start" width={340} trapFocus returnFocus shadow="md">
      <Popover.Target>{button}</Popover.Target>
      <Popover.Dropdown aria-label={name}>{panel}</Popover.Dropdown>
    </Popover>
  );
}
