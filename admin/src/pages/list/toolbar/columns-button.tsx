import { ActionIcon, Button, Popover, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Icon, type IconName } from '../../../theme/icons.tsx';
import { useWords } from '../../../words/index.ts';
import { type Column, named } from '../view/columns.ts';
import type { ListState } from '../view/use-list.ts';
import styles from './toolbar.module.css';

/** Chooses the columns of a list, and their order. */
export function ColumnsButton({ state }: { state: ListState }) {
  const { list } = useWords();
  return (
    <Popover position="bottom-end" width={300} trapFocus returnFocus shadow="md">
      <Popover.Target>
        <Button className={styles.button} variant="default" size="xs" leftSection={<Icon name="columns" size={14} />}>
          <span className={styles.name}>{list.columns}</span>
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={list.columns}>
        <Columns state={state} />
      </Popover.Dropdown>
    </Popover>
  );
}

const manyColumns = 12;

function Columns({ state }: { state: ListState }) {
  const { list } = useWords();
  const [text, setText] = useState('');
  const paths = state.columns.map(({ path }) => path);
  const others = state.all.filter((column) => !paths.includes(column.path));
  const found = others.filter(({ label }) => label.toLowerCase().includes(text.trim().toLowerCase()));
  const set = (columns: string[] | null) => state.change({ columns }, { replace: true });
  return (
    <div className={styles.panel}>
      <h2>{list.shownColumns}</h2>
      <ul className={styles.list}>
        {named(state.all, paths).map((column, index) => (
          <Shown key={column.path} {...{ column, index, paths, set }} />
        ))}
      </ul>
      <h2>{list.otherColumns}</h2>
      {others.length > manyColumns && (
        <TextInput
          size="xs"
          aria-label={list.findColumn}
          placeholder={list.findColumn}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      )}
      <ul className={styles.list}>
        {found.map(({ path, label }) => (
          <li key={path} className={styles.line}>
            <span>{label}</span>
            <Small icon="plus" label={list.showColumn(label)} act={() => set([...paths, path])} />
          </li>
        ))}
      </ul>
      <Button variant="subtle" size="xs" disabled={state.view.columns === null} onClick={() => set(null)}>
        {list.resetColumns}
      </Button>
    </div>
  );
}

type ShownProps = { column: Column; index: number; paths: string[]; set: (paths: string[]) => void };

function Shown({ column: { path, label }, index, paths, set }: ShownProps) {
  const { list } = useWords();
  const swap = (other: number) => set(paths.with(index, paths[other] ?? path).with(other, path));
  return (
    <li className={styles.line}>
      <span>{label}</span>
      <Small icon="up" label={list.moveUp(label)} act={index === 0 ? null : () => swap(index - 1)} />
      <Small icon="down" label={list.moveDown(label)} act={index === paths.length - 1 ? null : () => swap(index + 1)} />
      <Small
        icon="close"
        label={list.hideColumn(label)}
        act={paths.length === 1 ? null : () => set(paths.filter((one) => one !== path))}
      />
    </li>
  );
}

function Small({ icon, label, act }: { icon: IconName; label: string; act: (() => void) | null }) {
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size={24}
      aria-label={label}
      title={label}
      disabled={act === null}
      onClick={() => act?.()}
    >
      <Icon name={icon} size={14} />
    </ActionIcon>
  );
}
