import { ActionIcon, Button, Menu, Popover, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useSearchParams } from 'wouter';
import { changePreferences, type Preferences, usePreferences } from '../../../service/preferences.ts';
import { messageOf } from '../../../service/queries.ts';
import { Icon } from '../../../theme/icons.tsx';
import { useWords } from '../../../words/index.ts';
import type { ListState } from '../view/use-list.ts';
import { queryOf } from '../view/view.ts';
import styles from './toolbar.module.css';

/** The views that the user has saved of a list. */
export function ViewsButton({ state }: { state: ListState }) {
  const { list } = useWords();
  const [isOpen, setOpen] = useState(false);
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-end" width={300} trapFocus returnFocus shadow="md">
      <Popover.Target>
        <Button
          variant="default"
          size="xs"
          className={styles.button}
          leftSection={<Icon name="star" size={14} />}
          onClick={() => setOpen(!isOpen)}
        >
          <span className={styles.name}>{list.views}</span>
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={list.views}>{isOpen && <Views state={state} />}</Popover.Dropdown>
    </Popover>
  );
}

type ViewsOf = NonNullable<Preferences['views']>[string];

/** Changes the saved views; false where the service refuses it. */
type Save = (patch: { default?: string | null; named?: Record<string, string | null> }) => Promise<boolean>;

function Views({ state }: { state: ListState }) {
  const { list } = useWords();
  const [search] = useSearchParams();
  const { data, error } = usePreferences();
  const [problem, setProblem] = useState<string | null>(null);
  const { slug } = state.collection;
  const views: ViewsOf = data?.views?.[slug] ?? {};
  const named = Object.entries(views.named ?? {});
  const here = queryOf(search);
  const save: Save = async (patch) => {
    try {
      await changePreferences({ views: { [slug]: patch } });
      setProblem(null);
      return true;
    } catch (error) {
      setProblem(messageOf(error));
      return false;
    }
  };
  return (
    <div className={styles.panel}>
      <ul className={styles.list}>
        <li className={styles.line}>
          <button
            type="button"
            className={styles.view}
            aria-current={here === '' ? 'true' : undefined}
            onClick={() => state.show('')}
          >
            {list.plainView}
          </button>
        </li>
        {named.map(([name, query]) => (
          <ViewLine key={name} {...{ name, query, here, views, save }} show={() => state.show(query)} />
        ))}
      </ul>
      {named.length === 0 && <p className={styles.soft}>{list.noViews}</p>}
      <NameForm
        label={list.saveView}
        taken={named.map(([name]) => name)}
        put={(name) => save({ named: { [name]: here } })}
      />
      <p role="alert" className={styles.problem}>
        {problem ?? (error === null ? null : messageOf(error))}
      </p>
    </div>
  );
}

type LineProps = { name: string; query: string; here: string; views: ViewsOf; save: Save; show: () => void };

function ViewLine({ name, query, here, views, save, show }: LineProps) {
  const { list, shared } = useWords();
  const [isRenaming, setRenaming] = useState(false);
  const isDefault = views.default === name;
  if (isRenaming) {
    const taken = Object.keys(views.named ?? {}).filter((other) => other !== name);
    const rename = async (next: string) => {
      const moved = next === name ? {} : { [name]: null, [next]: query };
      const isSaved = await save({ named: moved, ...(isDefault ? { default: next } : {}) });
      if (isSaved) setRenaming(false);
      return isSaved;
    };
    return (
      <li>
        <NameForm label={list.renameView} first={name} taken={taken} put={rename} />
      </li>
    );
  }
  return (
    <li className={styles.line}>
      <button type="button" className={styles.view} aria-current={query === here ? 'true' : undefined} onClick={show}>
        {name} {isDefault && <small>{list.isDefault}</small>}
      </button>
      <Menu position="bottom-end" withinPortal={false}>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size={24} aria-label={list.viewActions(name)}>
            <Icon name="more" size={14} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => void save({ default: isDefault ? null : name })}>
            {isDefault ? list.unsetDefault : list.setDefault}
          </Menu.Item>
          <Menu.Item onClick={() => void save({ named: { [name]: here } })}>{list.replaceView}</Menu.Item>
          <Menu.Item onClick={() => setRenaming(true)}>{list.renameView}</Menu.Item>
          <Menu.Item
            color="red"
            onClick={() => void save({ named: { [name]: null }, ...(isDefault ? { default: null } : {}) })}
          >
            {shared.delete}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </li>
  );
}

const mostLetters = 60;

type NameProps = { label: string; first?: string; taken: readonly string[]; put: (name: string) => Promise<boolean> };

function NameForm({ label, first = '', taken, put }: NameProps) {
  const { list } = useWords();
  const [name, setName] = useState(first);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const wanted = name.trim();
    if (wanted === '' || wanted.length > mostLetters) return setProblem(list.viewLong);
    if (taken.includes(wanted)) return setProblem(list.viewTaken);
    setProblem(null);
    if (await put(wanted)) setName('');
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <TextInput
        size="xs"
        aria-label={list.viewName}
        placeholder={list.viewName}
        value={name}
        error={problem}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Button type="submit" size="xs" variant="default">
        {label}
      </Button>
    </form>
  );
}
