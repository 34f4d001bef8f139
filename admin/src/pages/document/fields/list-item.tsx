import { ActionIcon, Menu } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { type DataField, inWords } from '../../../schema/fields.ts';
import { Icon } from '../../../theme/icons.tsx';
import { useWords } from '../../../words/index.ts';
import { useFormPlace, useFormState } from '../form/context.ts';
import { blockOf, getAt, isObject, itemFields } from '../form/values.ts';
import styles from './fields.module.css';
import { ErrorText } from './frame.tsx';
import { type Edge, useSorting } from './sorting.ts';
import type { Items } from './use-items.ts';

type Props = {
  listKey: string;
  field: DataField;
  path: string;
  index: number;
  count: number;
  /** The last command to fold or unfold all items: `count` rises with each command. */
  folding: { isFolded: boolean; count: number };
  isFoldedAtFirst: boolean;
  isDisabled: boolean;
  isFull: boolean;
  items: Items;
};

/** One item of a list. While it is folded its fields are not mounted; the form keeps its values. */
export function ListItem(props: Props) {
  const { field, path, index, isDisabled, items, folding } = props;
  const { form, Level } = useFormPlace();
  const { form: words } = useWords();
  const [isFolded, setFolded] = useState(props.isFoldedAtFirst);
  const hasProblem = useFormState(({ hasProblemIn }) => hasProblemIn(path));
  const error = useFormState(({ problemAt }) => problemAt(path));
  const seen = useRef(folding.count);
  useEffect(() => {
    if (seen.current !== folding.count) setFolded(folding.isFolded);
    seen.current = folding.count;
  }, [folding]);
  useEffect(() => {
    if (hasProblem) setFolded(false);
  }, [hasProblem]);
  const { box, handle, edge, isDragged } = useSorting(props.listKey, index, isDisabled ? null : items.move);
  const item = form.get(path);
  const block = blockOf(field, item);
  const kind = field.type === 'blocks' ? (block?.label ?? inWords(String(isObject(item) ? item.blockType : ''))) : null;
  const name = kind === null ? words.item(index + 1) : `${index + 1} ${kind}`;
  const fields = itemFields(field, item);
  return (
    <li ref={box} className={styles.item} data-item={path} data-edge={edge} data-dragged={isDragged || undefined}>
      <div className={styles.itemHead}>
        {!isDisabled && (
          // The buttons beside the handle do the same for a keyboard.
          <span ref={handle} className={styles.handle} title={words.drag(name)} aria-hidden="true">
            <Icon name="drag" size={16} />
          </span>
        )}
        <button
          type="button"
          className={styles.fold}
          data-fold=""
          aria-expanded={!isFolded}
          onClick={() => setFolded((folded) => !folded)}
        >
          <Icon name={isFolded ? 'right' : 'down'} size={15} />
          <span className={styles.number}>{index + 1}</span>
          {kind !== null && <span className={styles.kind}>{kind}</span>}
          <Summary field={field} path={path} />
        </button>
        {!isDisabled && <ItemActions {...props} name={name} />}
      </div>
      <ErrorText id={path} error={error} />
      {!isFolded && (
        <div className={styles.itemBody}>
          {fields === undefined ? (
            <p className={styles.about}>{words.unknownBlock(String(isObject(item) ? item.blockType : ''))}</p>
          ) : (
            <Level fields={fields} prefix={`${path}.`} />
          )}
        </div>
      )}
    </li>
  );
}

/** The text by which an item is named. */
function Summary({ field, path }: { field: DataField; path: string }) {
  const text = useFormState((form) => summaryOf(field, form.get(path)));
  return <span className={styles.summary}>{text}</span>;
}

function summaryOf(field: DataField, item: unknown): string {
  const first = (itemFields(field, item) ?? []).find(({ type }) => type === 'text')?.name;
  const name = field.admin?.summary ?? first;
  const value = name === undefined ? undefined : getAt(item, name);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function ItemActions({ index, count, isFull, items, name, path }: Props & { name: string }) {
  const { form: words } = useWords();
  const move = (to: number, direction: Edge) => {
    items.move(index, to);
    // The item moves with its buttons, and an element that moves loses the focus.
    const list = path.slice(0, path.lastIndexOf('.'));
    requestAnimationFrame(() => {
      const item = document.querySelector(`[data-item="${CSS.escape(`${list}.${to}`)}"]`);
      const [same, other] = direction === 'top' ? ['up', 'down'] : ['down', 'up'];
      const button = (of: string) => item?.querySelector<HTMLButtonElement>(`[data-move="${of}"]:not(:disabled)`);
      (button(same ?? '') ?? button(other ?? ''))?.focus();
    });
  };
  const look = { variant: 'subtle', color: 'gray', size: 'md' } as const;
  return (
    <div className={styles.itemActions}>
      <ActionIcon
        {...look}
        data-move="up"
        disabled={index === 0}
        aria-label={words.moveUp(name)}
        onClick={() => move(index - 1, 'top')}
      >
        <Icon name="up" size={16} />
      </ActionIcon>
      <ActionIcon
        {...look}
        data-move="down"
        disabled={index === count - 1}
        aria-label={words.moveDown(name)}
        onClick={() => move(index + 1, 'bottom')}
      >
        <Icon name="down" size={16} />
      </ActionIcon>
      <Menu position="bottom-end" width={180}>
        <Menu.Target>
          <ActionIcon {...look} aria-label={words.itemMenu(name)}>
            <Icon name="more" size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<Icon name="copy" size={16} />}
            disabled={isFull}
            onClick={() => items.duplicate(index)}
          >
            {words.duplicateItem}
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="trash" size={16} />} onClick={() => items.remove(index)}>
            {words.removeItem}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}
