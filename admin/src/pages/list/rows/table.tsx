import { Checkbox } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Formatters } from '../../../parts/texts.ts';
import { useFormatters } from '../../../parts/use-texts.ts';
import { valueAt } from '../../../schema/fields.ts';
import { titleField } from '../../../schema/titles.ts';
import { addresses } from '../../../shell/addresses.ts';
import { Link } from '../../../shell/link.tsx';
import { useShortcuts } from '../../../shell/shortcuts.tsx';
import { Icon } from '../../../theme/icons.tsx';
import { useWords } from '../../../words/index.ts';
import type { Selection, TitledRow } from '../bulk/use-selection.ts';
import { type Column, nextSort, sortOf } from '../view/columns.ts';
import type { ListState, Row } from '../view/use-list.ts';
import { useRowTitle } from '../view/use-row-title.ts';
import { Cell, isNumeric } from './cell.tsx';
import { focusedRow } from './move.ts';
import styles from './table.module.css';

/** The properties of the rows of a list, as a table or as cards. */
export type RowsProps = {
  state: ListState;
  rows: readonly Row[];
  /** Null if nothing can be done with a selection. */
  selection: Selection | null;
  /** True if the rows are still those of the previous page. */
  isStale: boolean;
};

/** The rows of a list, on a wide screen. */
export function Table({ state, rows, selection, isStale }: RowsProps) {
  const { list } = useWords();
  const titleOf = useRowTitle(state.collection);
  const formatters = useFormatters();
  const names = rows.map((row) => ({ id: row.id, title: titleOf(row) }));
  useShortcuts(
    selection === null
      ? []
      : [
          {
            keys: 'x',
            run: () => {
              const name = names.find(({ id }) => id === focusedRow());
              if (name !== undefined) selection.toggle(name, names);
            },
          },
        ],
  );
  return (
    <div className={styles.frame}>
      <table className={isStale ? `${styles.table} ${styles.stale}` : styles.table} aria-busy={isStale}>
        <caption className={styles.caption}>{state.collection.plural}</caption>
        <thead>
          <tr>
            {selection !== null && (
              <th scope="col" className={styles.check}>
                <Checkbox
                  size="xs"
                  aria-label={list.selectPage}
                  checked={names.every(({ id }) => selection.chosen.has(id))}
                  indeterminate={isSome(names, selection)}
                  onChange={(event) => selection.set(names, event.currentTarget.checked)}
                />
              </th>
            )}
            {state.columns.map((column) => (
              <Head key={column.path} column={column} state={state} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => {
            const name = names[index] as TitledRow;
            return (
              <TableRow key={row.id} {...{ row, state, formatters, name }}>
                {selection !== null && <Choice {...{ name, names, selection }} />}
              </TableRow>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function isSome(names: readonly TitledRow[], { chosen }: Selection): boolean {
  const count = names.filter(({ id }) => chosen.has(id)).length;
  return count > 0 && count < names.length;
}

function Choice({ name, names, selection }: { name: TitledRow; names: readonly TitledRow[]; selection: Selection }) {
  const { list } = useWords();
  return (
    <td className={styles.check}>
      <Checkbox
        size="xs"
        aria-label={list.selectRow(name.title)}
        checked={selection.chosen.has(name.id)}
        onChange={(event) => selection.toggle(name, names, (event.nativeEvent as MouseEvent).shiftKey === true)}
      />
    </td>
  );
}

function Head({ column, state }: { column: Column; state: ListState }) {
  const { list } = useWords();
  const order = sortOf(state.sort, column);
  const className = isNumeric(column) ? styles.numeric : undefined;
  if (column.sort === null) {
    return (
      <th scope="col" className={className}>
        <span className={styles.label} title={column.label}>
          {column.label}
        </span>
      </th>
    );
  }
  return (
    <th scope="col" className={className} aria-sort={order}>
      <button
        type="button"
        className={styles.sort}
        title={list.sortBy(column.label)}
        onClick={() => state.change({ sort: nextSort(state.sort, column) })}
      >
        <span>{column.label}</span>
        {order !== 'none' && <Icon name={order === 'ascending' ? 'up' : 'down'} size={14} />}
      </button>
    </th>
  );
}

type RowProps = { row: Row; name: TitledRow; state: ListState; formatters: Formatters; children: ReactNode };

function TableRow({ row, name, state, formatters, children }: RowProps) {
  const [first, ...others] = state.columns;
  return (
    <tr data-row={row.id}>
      {children}
      {first !== undefined && (
        <th scope="row" className={isNumeric(first) ? styles.numeric : undefined}>
          <Link to={addresses.document(state.collection.slug, row.id)} className={styles.link} data-row-link>
            {isTitle(row, first, state) ? name.title : <Cell row={row} column={first} formatters={formatters} />}
          </Link>
        </th>
      )}
      {others.map((column) => (
        <td key={column.path} className={isNumeric(column) ? styles.numeric : undefined}>
          <Cell row={row} column={column} formatters={formatters} />
        </td>
      ))}
    </tr>
  );
}

/** Whether the first cell shows the title: if it is the column of the title, or would be empty. */
function isTitle(row: Row, { path }: Column, { collection }: ListState): boolean {
  const value = valueAt(row, path);
  return path === titleField(collection) || value === null || value === undefined || value === '';
}
