import { Combobox, Loader, TextInput, useCombobox } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type KeyboardEvent, type ReactNode, useEffect, useState } from 'react';
import type { Collection } from '../../../../schema/model.ts';
import { titleOf } from '../../../../schema/titles.ts';
import { messageOf } from '../../../../service/queries.ts';
import { Icon } from '../../../../theme/icons.tsx';
import { useWords } from '../../../../words/index.ts';
import styles from './input.module.css';
import { type Target, useFound } from './targets.ts';

const createOption = '+';

type Props = {
  collection: Collection;
  id: string;
  /** The text of the box before a search: the title of the chosen document. */
  shown: string;
  /** True while the title in `shown` is being read. */
  isAwaited?: boolean;
  /** Ids that are not offered. */
  without: readonly string[];
  isDisabled: boolean;
  isInvalid: boolean;
  describedBy: string | undefined;
  /** Buttons at the end of the box. */
  actions?: ReactNode;
  onChoose: (target: Target) => void;
  /** Called when the user deletes the text of the box; absent if there is nothing to clear. */
  onClear?: (() => void) | undefined;
  /** Called to create a document named by the words of the search; absent if the user may not. */
  onCreate?: ((title: string) => void) | undefined;
};

/** A box that searches documents of a collection at the service (the combobox pattern of ARIA). */
export function TargetSearch(props: Props) {
  const { collection, shown, onCreate } = props;
  const { inputs } = useWords();
  const { combobox, typed, found, answer, type, leave, submit, press } = useSearch(props);
  return (
    <Combobox
      store={combobox}
      keepMounted={false}
      withinPortal={false}
      onOptionSubmit={submit}
      disabled={props.isDisabled}
    >
      <Combobox.Target withExpandedAttribute>
        <TextInput
          id={props.id}
          role="combobox"
          value={typed ?? shown}
          placeholder={props.isAwaited ? '' : inputs.search(collection.plural)}
          autoComplete="off"
          spellCheck={false}
          disabled={props.isDisabled}
          aria-invalid={props.isInvalid || undefined}
          aria-describedby={props.describedBy}
          rightSection={answer.isFetching && combobox.dropdownOpened ? <Loader size="xs" /> : props.actions}
          rightSectionWidth="auto"
          rightSectionPointerEvents="all"
          classNames={{ section: styles.section ?? '' }}
          onChange={(event) => type(event.currentTarget.value)}
          onFocus={(event) => event.currentTarget.select()}
          onClick={() => combobox.openDropdown()}
          onBlur={leave}
          onKeyDown={press}
        />
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Options className={styles.options} aria-label={collection.plural}>
          {found.map((target) => (
            <Combobox.Option key={target.id} value={target.id} className={styles.option}>
              <span>{titleOf(collection, target)}</span>
            </Combobox.Option>
          ))}
          {onCreate !== undefined && <CreateOption collection={collection} title={(typed ?? '').trim()} />}
        </Combobox.Options>
        <Remarks answer={answer} isEmpty={found.length === 0} />
      </Combobox.Dropdown>
    </Combobox>
  );
}

/** The words that are typed, the documents that the service finds, and the keys of the box. */
function useSearch({ collection, without, onChoose, onClear, onCreate }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  const [words] = useDebouncedValue((typed ?? '').trim(), 200);
  const combobox = useCombobox({ onDropdownClose: () => combobox.resetSelectedOption() });
  const answer = useFound(collection, words, combobox.dropdownOpened);
  const { data } = answer;
  const found = (data?.docs ?? []).filter(({ id }) => !without.includes(id));
  // Enter must not take a document that was found for other words.
  const isFresh = (typed ?? '').trim() === words && !answer.isPlaceholderData;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the first of each answer is
  useEffect(() => {
    if (isFresh && words !== '' && combobox.dropdownOpened) combobox.selectFirstOption();
  }, [data, isFresh]);

  function type(text: string): void {
    setTyped(text);
    combobox.resetSelectedOption();
    combobox.openDropdown();
  }

  function leave(): void {
    if (typed !== null && typed.trim() === '') onClear?.();
    setTyped(null);
    combobox.closeDropdown();
  }

  function submit(value: string): void {
    const target = found.find(({ id }) => id === value);
    setTyped(null);
    combobox.closeDropdown();
    if (value === createOption) onCreate?.((typed ?? '').trim());
    else if (target !== undefined) onChoose(target);
  }

  function press(event: KeyboardEvent): void {
    // The key that chooses does not submit the form.
    if (event.key === 'Enter') event.preventDefault();
    if (event.key !== 'Escape' || !combobox.dropdownOpened) return;
    event.stopPropagation();
    setTyped(null);
  }

  return { combobox, typed, found, answer, type, leave, submit, press };
}

/** Says below the options that nothing was found, that there is more, or why the search failed. */
function Remarks({ answer: { data, error }, isEmpty }: { answer: ReturnType<typeof useFound>; isEmpty: boolean }) {
  const { inputs } = useWords();
  return (
    <>
      {error !== null && (
        <p className={styles.problem} role="alert">
          {messageOf(error)}
        </p>
      )}
      {data !== undefined && isEmpty && <Combobox.Empty>{inputs.noMatch}</Combobox.Empty>}
      {data?.hasMore && <Combobox.Footer className={styles.more}>{inputs.moreThanShown}</Combobox.Footer>}
    </>
  );
}

/** The last option: a new document, named by the words that were typed. */
function CreateOption({ collection, title }: { collection: Collection; title: string }) {
  const { inputs } = useWords();
  return (
    <Combobox.Option value={createOption} className={styles.create}>
      <Icon name="plus" size={16} />
      <span>{title === '' ? inputs.createNew(collection.singular) : inputs.createNamed(title)}</span>
    </Combobox.Option>
  );
}
