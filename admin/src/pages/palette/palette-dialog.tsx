import { Modal } from '@mantine/core';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from 'react';
import { useAsOf } from '../../service/as-of.ts';
import { useGo } from '../../shell/link.tsx';
import { Icon } from '../../theme/icons.tsx';
import { useWords } from '../../words/index.ts';
import styles from './palette.module.css';
import { type Option, type Section, useSections } from './use-sections.ts';

type Props = { isOpen: boolean; close: () => void; openShortcuts: () => void };

/** Finds documents, pages and actions by words. */
export function PaletteDialog({ isOpen, close, openShortcuts }: Props) {
  const { palette } = useWords();
  return (
    <Modal.Root
      opened={isOpen}
      onClose={close}
      centered={false}
      yOffset="10vh"
      size="40rem"
      padding={0}
      lockScroll={false}
    >
      <Modal.Overlay />
      <Modal.Content aria-label={palette.title}>
        <Modal.Body>
          <Search close={close} openShortcuts={openShortcuts} />
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

function Search({ close, openShortcuts }: Omit<Props, 'isOpen'>) {
  const { palette } = useWords();
  const go = useGo();
  const asOf = useAsOf();
  const listId = useId();
  const [words, setWords] = useState('');
  const [at, setAt] = useState(0);
  const { sections, isSearching, isDone, found } = useSections(words);
  const options = sections.flatMap((section) => section.options);
  const active = options[Math.min(at, options.length - 1)];
  const open = (option: Option) => {
    close();
    if (option.to === null) openShortcuts();
    else go(option.to);
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && options.length > 0) {
      event.preventDefault();
      setAt((Math.min(at, options.length - 1) + step + options.length) % options.length);
    }
    if (event.key === 'Enter' && active !== undefined && !event.nativeEvent.isComposing) {
      event.preventDefault();
      open(active);
    }
  };
  return (
    <>
      <div className={styles.line}>
        <Icon name="search" />
        <input
          data-autofocus
          role="combobox"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={active && `${listId} ${active.id}`.replaceAll(/\s/g, '-')}
          aria-autocomplete="list"
          aria-label={palette.placeholder}
          placeholder={palette.placeholder}
          maxLength={200}
          value={words}
          onChange={(event) => {
            setWords(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={press}
        />
      </div>
      <div id={listId} role="listbox" aria-label={palette.results} className={styles.list}>
        {sections.map((section) => (
          <SectionPart key={section.name} {...{ section, listId, active, open }} />
        ))}
      </div>
      {isDone && options.length === 0 && (
        <p className={styles.nothing}>
          {palette.nothing}. {palette.nothingText}
        </p>
      )}
      <footer className={styles.foot}>
        <span role="status">
          {isSearching ? palette.searching : found !== null ? palette.foundCount(found.shown, found.total) : ''}
        </span>
        <span>{asOf === null ? palette.hints : palette.noSearchThen}</span>
      </footer>
    </>
  );
}

type PartProps = { section: Section; listId: string; active: Option | undefined; open: (option: Option) => void };

function SectionPart({ section, listId, active, open }: PartProps) {
  const nameId = `${listId}-${section.name.replaceAll(/\s/g, '-')}`;
  return (
    // biome-ignore lint/a11y/useSemanticElements: the options of a listbox are in groups, not in field sets
    <div role="group" aria-labelledby={nameId}>
      <div id={nameId} className={styles.name}>
        {section.name}
      </div>
      {section.options.map((option) => (
        <Choice
          key={option.id}
          id={`${listId} ${option.id}`.replaceAll(/\s/g, '-')}
          isActive={option === active}
          open={() => open(option)}
        >
          <Icon name={option.icon} size={16} />
          <span className={styles.text}>
            <span className={styles.title}>{option.name}</span>
            {option.pieces !== undefined && <Excerpt pieces={option.pieces} />}
          </span>
          {option.hint !== undefined && <small>{option.hint}</small>}
        </Choice>
      ))}
    </div>
  );
}

type ChoiceProps = { id: string; isActive: boolean; open: () => void; children: ReactNode };

function Choice({ id, isActive, open, children }: ChoiceProps) {
  useEffect(() => {
    if (isActive) document.getElementById(id)?.scrollIntoView({ block: 'nearest' });
  }, [id, isActive]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox handles the keys
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isActive}
      className={styles.option}
      onClick={open}
      // The focus stays in the input.
      onMouseDown={(event) => event.preventDefault()}
    >
      {children}
    </div>
  );
}

function Excerpt({ pieces }: { pieces: NonNullable<Option['pieces']> }) {
  return (
    <span className={styles.excerpt}>
      {pieces.map(({ text, isMarked }, index) => {
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no name but their place
        return isMarked ? <mark key={index}>{text}</mark> : <span key={index}>{text}</span>;
      })}
    </span>
  );
}
