import { Button, Modal } from '@mantine/core';
import { useState } from 'react';
import dialogStyles from '../../../parts/dialog.module.css';
import { useDialog } from '../../../parts/dialog.ts';
import { labelOf } from '../../../schema/fields.ts';
import { useLanguage, useWords } from '../../../words/index.ts';
import { useIsPhone } from '../editor/phone.ts';
import type { EditorView } from '../editor/use-editor.ts';
import { sinceOf } from '../facts/since.ts';
import styles from './conflict.module.css';
import type { Conflict } from './conflict.ts';
import { type Difference, firstChoice, type Side, taken } from './merge.ts';
import { ShownValue } from './shown-value.tsx';

/** `isPublication`: the choice is published, not only saved. */
type Props = { editor: EditorView; conflict: Conflict & { isPublication: boolean } };

/**
 * Says that another version was saved meanwhile. Shows each field as it was read, as it is now and as it is in the
 * form, and offers the last two.
 */
export function ConflictDialog({ editor, conflict }: Props) {
  const dialog = useDialog(editor.closeConflict);
  const { form: words, drafts } = useWords();
  const language = useLanguage();
  const isPhone = useIsPhone();
  const { differences, who, isOwn, when } = conflict;
  const since = when === null ? null : sinceOf(when, language, words);
  const [choices, setChoices] = useState(() => new Map(differences.map((one) => [one.field.name, firstChoice(one)])));
  const save = () => editor.resolve(taken(differences, choices));
  return (
    <Modal {...dialog} title={isOwn ? words.ownConflictTitle : words.conflictTitle} size="62rem" fullScreen={isPhone}>
      <div className={dialogStyles.body}>
        <p>{isOwn ? words.ownConflictText(since) : words.conflictText(who, since)}</p>
        <ul className={styles.differences}>
          {differences.map((difference) => (
            <DifferenceRow
              key={difference.field.name}
              difference={difference}
              choice={choices.get(difference.field.name) ?? 'mine'}
              choose={(side) => setChoices((old) => new Map(old).set(difference.field.name, side))}
            />
          ))}
        </ul>
        <div className={dialogStyles.buttons}>
          <Button variant="default" onClick={editor.closeConflict}>
            {words.backToForm}
          </Button>
          <Button onClick={save} data-autofocus>
            {conflict.isPublication ? drafts.publishChoice : words.saveChoice}
          </Button>
        </div>
      </div>
    </Modal>
  );
}

type RowProps = { difference: Difference; choice: Side; choose: (side: Side) => void };

function DifferenceRow({ difference, choice, choose }: RowProps) {
  const { form: words } = useWords();
  const { field, read, now, mine, isConflict, isTheirs } = difference;
  const who = isConflict ? words.bothChanged : isTheirs ? words.theyChanged : words.youChanged;
  const sides = [
    ['now', words.asNow, words.keepTheirs, now],
    ['mine', words.mine, words.keepMine, mine],
  ] as const;
  return (
    <li className={styles.difference} data-conflict={field.name}>
      <fieldset>
        <legend>
          {labelOf(field)} <span className={styles.who}>{who}</span>
        </legend>
        <div className={styles.columns}>
          <div className={styles.read}>
            <h3>{words.asRead}</h3>
            <ShownValue field={field} value={read} />
          </div>
          {sides.map(([side, title, action, value]) => (
            <label key={side} className={styles.side} data-chosen={choice === side || undefined}>
              <span className={styles.sideHead}>
                <input
                  type="radio"
                  name={`choice-${field.name}`}
                  value={side}
                  checked={choice === side}
                  onChange={() => choose(side)}
                  aria-label={`${labelOf(field)}: ${action}`}
                />
                <strong>{title}</strong>
              </span>
              <ShownValue field={field} value={value} />
            </label>
          ))}
        </div>
      </fieldset>
    </li>
  );
}
