import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import { Icon } from '../../theme/icons.tsx';
import { useWords } from '../../words/index.ts';
import { type Sort, sortNames, type TypeFilter, typeFilters, type View } from './library/query.ts';
import styles from './media.module.css';

/** Search, kind and order of the files. */
export function MediaToolbar({ view, change }: { view: View; change: (change: Partial<View>) => void }) {
  const { media } = useWords();
  const names = {
    types: { '': media.allTypes, image: media.images, video: media.videos, audio: media.audio, text: media.texts },
    sorts: { newest: media.newest, oldest: media.oldest, name: media.byName, size: media.largest },
  };
  return (
    <search className={styles.toolbar}>
      <Search key="search" q={view.q} change={(q) => change({ q })} />
      <NativeSelect
        aria-label={media.type}
        value={view.type}
        data={typeFilters.map((value) => ({ value, label: names.types[value] }))}
        onChange={(event) => change({ type: event.currentTarget.value as TypeFilter })}
      />
      <NativeSelect
        aria-label={media.sort}
        value={view.sort}
        data={sortNames.map((value) => ({ value, label: names.sorts[value] }))}
        onChange={(event) => change({ sort: event.currentTarget.value as Sort })}
      />
    </search>
  );
}

/** A search box whose words go into the address after a pause in typing. */
function Search({ q, change }: { q: string; change: (q: string) => void }) {
  const { media } = useWords();
  const [typed, setTyped] = useState(q);
  const write = useDebouncedCallback(change, 300);
  // The address also changes when the user goes back or clears the search.
  useEffect(() => setTyped(q), [q]);
  return (
    <TextInput
      type="search"
      className={styles.search}
      aria-label={media.search}
      placeholder={media.search}
      leftSection={<Icon name="search" size={16} />}
      value={typed}
      onChange={({ currentTarget: { value } }) => {
        setTyped(value);
        write(value);
      }}
    />
  );
}

/** The actions on the selected files. */
export function SelectionBar({ count, clear, remove }: { count: number; clear: () => void; remove: () => void }) {
  const { media } = useWords();
  return (
    <div className={styles.selection} role="status">
      <strong>{media.selected(count)}</strong>
      <Button size="xs" variant="default" leftSection={<Icon name="trash" size={16} />} onClick={remove}>
        {media.deleteSelected}
      </Button>
      <Button size="xs" variant="subtle" color="gray" onClick={clear}>
        {media.clearSelection}
      </Button>
    </div>
  );
}
