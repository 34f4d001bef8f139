import { type DragEvent, type ReactNode, useState } from 'react';
import { Action } from '../../../../parts/action.tsx';
import boxed from '../../../../parts/boxed.module.css';
import { Icon } from '../../../../theme/icons.tsx';
import { useWords } from '../../../../words/index.ts';
import styles from './input.module.css';
import { moved } from './order.ts';

/** An item of a list that the user can reorder. */
type Item = { id: string; title: string; content: ReactNode };

type Props = {
  /** The path of the list in the document. */
  path: string;
  items: Item[];
  isDisabled: boolean;
  onOrder: (ids: string[]) => void;
  onRemove: (id: string) => void;
};

/** A list of items that the user reorders by dragging or with buttons. */
export function OrderedList({ path, items, isDisabled, onOrder, onRemove }: Props) {
  const { inputs } = useWords();
  const [dragged, setDragged] = useState<string | null>(null);
  const ids = items.map(({ id }) => id);
  const move = (from: number, to: number) => onOrder(moved(ids, from, to));
  const over = (event: DragEvent, place: number) => {
    if (dragged === null) return;
    event.preventDefault();
    const from = ids.indexOf(dragged);
    if (from !== place) move(from, place);
  };
  return (
    <ol className={boxed.rows} aria-label={inputs.chosen}>
      {items.map(({ id, title, content }, place) => (
        <li
          key={id}
          data-item={`${path}.${place}`}
          className={id === dragged ? `${styles.row} ${styles.dragged}` : styles.row}
          onDragOver={(event) => over(event, place)}
          onDrop={(event) => dragged !== null && event.preventDefault()}
        >
          {!isDisabled && items.length > 1 && <Handle id={id} setDragged={setDragged} />}
          {content}
          {!isDisabled && (
            <span className={styles.rowActions}>
              {items.length > 1 && (
                <>
                  <Action
                    icon="up"
                    label={inputs.upNamed(title)}
                    isOff={place === 0}
                    act={() => move(place, place - 1)}
                  />
                  <Action
                    icon="down"
                    label={inputs.downNamed(title)}
                    isOff={place === items.length - 1}
                    act={() => move(place, place + 1)}
                  />
                </>
              )}
              <Action icon="close" label={inputs.removeNamed(title)} act={() => onRemove(id)} />
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}

/** The placeholder of a title or name that is being read: quiet, and for a moment empty. */
export function Awaited() {
  const { shared } = useWords();
  return <span className={styles.awaited} role="img" aria-label={shared.loading} data-awaited="" />;
}

/** The handle for dragging an item, hidden from screen readers: the buttons beside it do the same. */
function Handle({ id, setDragged }: { id: string; setDragged: (id: string | null) => void }) {
  const begin = (event: DragEvent<HTMLSpanElement>) => {
    event.dataTransfer.effectAllowed = 'move';
    event.dataTransfer.setData('application/x-annals-item', id);
    const row = event.currentTarget.parentElement;
    if (row !== null) event.dataTransfer.setDragImage(row, 12, 12);
    setDragged(id);
  };
  return (
    <span className={styles.handle} draggable aria-hidden="true" onDragStart={begin} onDragEnd={() => setDragged(null)}>
      <Icon name="drag" size={16} />
    </span>
  );
}
