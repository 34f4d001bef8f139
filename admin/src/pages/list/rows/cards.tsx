import { Checkbox } from '@mantine/core';
import { type ReactNode, useRef } from 'react';
import { useFormatters } from '../../../parts/use-texts.ts';
import { valueAt } from '../../../schema/fields.ts';
import { titleField } from '../../../schema/titles.ts';
import { addresses } from '../../../shell/addresses.ts';
import { Link } from '../../../shell/link.tsx';
import { useWords } from '../../../words/index.ts';
import type { Column } from '../view/columns.ts';
import type { ListState, Row } from '../view/use-list.ts';
import { useRowTitle } from '../view/use-row-title.ts';
import styles from './cards.module.css';
import { Cell } from './cell.tsx';
import type { RowsProps } from './table.tsx';
import { Thumbnail } from './thumbnail.tsx';

type CardsProps = RowsProps & { isPicking: boolean; setPicking: (isPicking: boolean) => void };

const mostFacts = 3;

/** The rows of a list, on a phone. */
export function Cards({ state, rows, selection, isStale, isPicking, setPicking }: CardsProps) {
  const { list } = useWords();
  const titleOf = useRowTitle(state.collection);
  const names = rows.map((row) => ({ id: row.id, title: titleOf(row) }));
  return (
    <ul className={isStale ? `${styles.cards} ${styles.stale}` : styles.cards} aria-busy={isStale}>
      {rows.map((row) => {
        const name = { id: row.id, title: titleOf(row) };
        const isChosen = selection?.chosen.has(row.id) ?? false;
        return (
          <LongPress
            key={row.id}
            id={row.id}
            isChosen={isChosen}
            press={() => {
              setPicking(true);
              selection?.set([name], true);
            }}
          >
            {isPicking && selection !== null && (
              <Checkbox
                className={styles.check}
                aria-label={list.selectRow(name.title)}
                checked={isChosen}
                onChange={() => selection.toggle(name, names)}
              />
            )}
            <Card row={row} title={name.title} state={state} />
          </LongPress>
        );
      })}
    </ul>
  );
}

function Card({ row, title, state }: { row: Row; title: string; state: ListState }) {
  const formatters = useFormatters();
  const picture = state.columns.find(({ field }) => field.type === 'upload');
  const file = picture === undefined ? null : valueAt(row, picture.path);
  const named = titleField(state.collection);
  const isFact = (column: Column) => column !== picture && column.path !== named && hasValue(row, column);
  return (
    <>
      <div className={styles.text}>
        <Link to={addresses.document(state.collection.slug, row.id)} className={styles.link} data-row-link>
          {title}
        </Link>
        <dl className={styles.facts}>
          {state.columns
            .filter(isFact)
            .slice(0, mostFacts)
            .map((column) => (
              <div key={column.path}>
                <dt>{column.label}</dt>
                <dd>
                  <Cell row={row} column={column} formatters={formatters} />
                </dd>
              </div>
            ))}
        </dl>
      </div>
      {typeof file === 'object' && file !== null && <Thumbnail file={file} />}
    </>
  );
}

function hasValue(row: Row, { path }: Column): boolean {
  const value = valueAt(row, path);
  return value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
}

const longPress = 500;

type PressProps = { id: string; isChosen: boolean; press: () => void; children: ReactNode };

/** A card that begins a selection by a long press. */
function LongPress({ id, isChosen, press, children }: PressProps) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const wasLong = useRef(false);
  const stop = () => clearTimeout(timer.current);
  return (
    <li
      data-row={id}
      className={isChosen ? `${styles.card} ${styles.chosen}` : styles.card}
      onPointerDown={({ pointerType }) => {
        wasLong.current = false;
        if (pointerType === 'mouse') return;
        timer.current = setTimeout(() => {
          wasLong.current = true;
          press();
        }, longPress);
      }}
      onPointerUp={stop}
      onPointerCancel={stop}
      onPointerMove={(event) => {
        if (Math.abs(event.movementX) + Math.abs(event.movementY) > 4) stop();
      }}
      onContextMenu={(event) => {
        if (wasLong.current) event.preventDefault();
      }}
      onClickCapture={(event) => {
        // A press that selected the card must not also open it.
        if (wasLong.current) event.preventDefault();
        wasLong.current = false;
      }}
    >
      {children}
    </li>
  );
}
