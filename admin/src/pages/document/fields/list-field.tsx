import { Button, Menu } from '@mantine/core';
import { useState } from 'react';
import { type DataField, inWords, labelOf } from '../../../schema/fields.ts';
import { Icon } from '../../../theme/icons.tsx';
import { useWords } from '../../../words/index.ts';
import { BlameNote } from '../facts/blame.tsx';
import { controlId, useFormPlace, useFormState } from '../form/context.ts';
import styles from './fields.module.css';
import { ErrorText } from './frame.tsx';
import { ListItem } from './list-item.tsx';
import { useItems } from './use-items.ts';

/** A list with more items than this is folded when the form is opened. */
const mostOpen = 4;

/** A list of objects: `array`, or `blocks`. Items are added, moved, copied, folded and removed. */
export function ListField({ field, path, isDisabled }: { field: DataField; path: string; isDisabled: boolean }) {
  const place = useFormPlace();
  const { form: words } = useWords();
  const error = useFormState((form) => form.problemAt(path));
  const items = useItems(field, path);
  const [atFirst] = useState(() => new Set(items.keys));
  const [folding, setFolding] = useState({ isFolded: items.keys.length > mostOpen, count: 0 });
  const id = controlId(place, path);
  const isFull = field.maxLength !== undefined && items.keys.length >= field.maxLength;
  return (
    <section
      className={styles.list}
      data-field={path}
      data-invalid={error !== undefined || undefined}
      aria-labelledby={`${id}-label`}
    >
      <div className={styles.listHead}>
        <span id={`${id}-label`} className={styles.label}>
          {labelOf(field)}
        </span>
        <span className={styles.count}>{items.keys.length}</span>
        <BlameNote path={path} />
        {items.keys.length > 1 && (
          <button
            type="button"
            className={styles.quiet}
            onClick={() => setFolding(({ isFolded, count }) => ({ isFolded: !isFolded, count: count + 1 }))}
          >
            {folding.isFolded ? words.unfoldAll : words.foldAll}
          </button>
        )}
      </div>
      {field.admin?.description !== undefined && <p className={styles.about}>{field.admin.description}</p>}
      <ErrorText id={id} error={error} />
      {items.keys.length > 0 && (
        <ol className={styles.items}>
          {items.keys.map((key, index) => (
            <ListItem
              key={key}
              listKey={items.listKey}
              field={field}
              path={`${path}.${index}`}
              index={index}
              count={items.keys.length}
              folding={folding}
              isFoldedAtFirst={folding.isFolded && atFirst.has(key)}
              isDisabled={isDisabled}
              isFull={isFull}
              items={items}
            />
          ))}
        </ol>
      )}
      {!isDisabled && !isFull && <AddButton field={field} id={id} add={items.add} />}
    </section>
  );
}

/** A button that adds an item at the end; for `blocks`, a menu of the blocks. */
function AddButton({ field, id, add }: { field: DataField; id: string; add: (blockType?: string) => void }) {
  const { form: words } = useWords();
  const look = {
    variant: 'default',
    size: 'xs',
    leftSection: <Icon name="plus" size={15} />,
    className: styles.add,
    id: `${id}-add`,
  };
  const blocks = field.blocks ?? [];
  const [only] = blocks;
  if (field.type === 'array' || (blocks.length === 1 && only !== undefined)) {
    return (
      <Button {...look} onClick={() => add(only?.slug)}>
        {words.addItem(labelOf(field))}
      </Button>
    );
  }
  return (
    <Menu position="bottom-start" width={220}>
      <Menu.Target>
        <Button {...look}>{words.addBlock}</Button>
      </Menu.Target>
      <Menu.Dropdown className={styles.blocks}>
        {blocks.map(({ slug, label }) => (
          <Menu.Item key={slug} onClick={() => add(slug)}>
            {label ?? inWords(slug)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
