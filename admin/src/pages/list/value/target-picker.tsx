import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useTitles } from '../../../service/related-titles.ts';
import { useWords } from '../../../words/index.ts';
import { useFound } from './use-found.ts';

type Props = { slug: string; label: string; value: string | null; onChange: (id: string | null) => void };

/** Picks a document by its title. The service searches, and gives 20 at most. */
export function TargetPicker({ slug, label, value, onChange }: Props) {
  const { list } = useWords();
  const titles = useTitles(value === null ? [] : [{ relationTo: slug, id: value }]);
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const chosen = titles.get(`${slug}/${value}`);
  const [words] = useDebouncedValue(text === chosen ? '' : text, 150);
  const { found, isFetching } = useFound(slug, words, isOpen);
  const isKnown = value === null || found.some((one) => one.value === value);
  const data = isKnown ? found : [{ value, label: chosen ?? value }, ...found];
  return (
    <Select
      label={label}
      placeholder={list.pick}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': list.empty }}
      // The service has filtered the options.
      filter={({ options }) => options}
      data={data}
      value={value}
      onChange={onChange}
      searchValue={text}
      onSearchChange={setText}
      onDropdownOpen={() => setOpen(true)}
      nothingFoundMessage={isFetching ? undefined : list.nothingFound}
      // In a portal the list would be outside the panel, which a click outside closes.
      comboboxProps={{ withinPortal: false }}
    />
  );
}
