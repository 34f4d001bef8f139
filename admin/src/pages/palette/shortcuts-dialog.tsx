import { Modal, Switch } from '@mantine/core';
import { useState } from 'react';
import { changePreferences, usePreferences } from '../../service/preferences.ts';
import { messageOf } from '../../service/queries.ts';
import { useWords, type Words } from '../../words/index.ts';
import styles from './palette.module.css';

type Names = Words['palette']['keys'];
type Line = [keyof Names, string];

const everywhere: Line[] = [
  ['palette', 'mod K'],
  ['search', '/'],
  ['home', 'g h'],
  ['content', 'g c'],
  ['media', 'g m'],
  ['trash', 'g t'],
  ['me', 'g a'],
  ['help', '?'],
  ['close', 'Esc'],
];

const lists: Line[] = [
  ['create', 'n'],
  ['move', 'j k'],
  ['openRow', '↵'],
  ['selectRow', 'x'],
];

const documents: Line[] = [
  ['save', 'mod S'],
  ['publish', 'mod ⇧ S'],
  ['preview', 'mod ⇧ P'],
  ['history', 'h'],
  ['versions', '[ ]'],
];

/** All shortcuts of the keyboard, and the switch that turns them off. */
export function ShortcutsDialog({ isOpen, close }: { isOpen: boolean; close: () => void }) {
  const { palette, shared } = useWords();
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      size="46rem"
      title={palette.shortcuts}
      closeButtonProps={{ 'aria-label': shared.close }}
    >
      <ShortcutsSwitch />
      <div className={styles.keys}>
        <Keys title={palette.everywhere} lines={everywhere} />
        <div>
          <Keys title={palette.inLists} lines={lists} />
          <Keys title={palette.inDocuments} lines={documents} />
        </div>
      </div>
    </Modal>
  );
}

/** Turns the shortcuts on and off, for the user wherever they log in. */
function ShortcutsSwitch() {
  const { palette } = useWords();
  const { data, error } = usePreferences();
  const [problem, setProblem] = useState<string | null>(null);
  const change = async (isOn: boolean) => {
    try {
      await changePreferences({ shortcuts: isOn ? null : false });
      setProblem(null);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <>
      <Switch
        label={palette.isOn}
        description={palette.isOnHint}
        disabled={data === undefined}
        checked={data?.shortcuts !== false}
        onChange={(event) => void change(event.currentTarget.checked)}
      />
      <p role="alert" className={styles.problem}>
        {problem ?? (error === null ? null : messageOf(error))}
      </p>
    </>
  );
}

const isMac = /mac|iphone|ipad/i.test(navigator.userAgent);

function Keys({ title, lines }: { title: string; lines: Line[] }) {
  const { palette } = useWords();
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {lines.map(([name, keys]) => (
          <div key={name}>
            <dt>{palette.keys[name]}</dt>
            <dd>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key === 'mod' ? (isMac ? '⌘' : 'Ctrl') : key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
