import { Button, Modal, TextInput } from '@mantine/core';
import { useState } from 'react';
import { nameOfActor } from '../../../parts/actors.tsx';
import dialogStyles from '../../../parts/dialog.module.css';
import { useDialog } from '../../../parts/dialog.ts';
import { agoOf, momentOf } from '../../../parts/times.tsx';
import { labelOf } from '../../../schema/fields.ts';
import { forget, messageOf } from '../../../service/queries.ts';
import { useAccount } from '../../../service/session.ts';
import { useLanguage, useWords } from '../../../words/index.ts';
import { ShownValue } from '../conflict/shown-value.tsx';
import { useIsPhone } from '../editor/phone.ts';
import type { EditorView } from '../editor/use-editor.ts';
import { useBlame } from '../facts/blame.tsx';
import { useFormStateOf } from '../form/context.ts';
import { needsReason, slugOf } from '../save/subject.ts';
import type { LineChange } from './lines.ts';
import { TrialNotes, useTrial } from './publish-trial.tsx';
import styles from './publishing.module.css';
import type { Publishing } from './use-publishing.ts';

type Props = { editor: EditorView; publishing: Publishing };

/** The fields in which a draft differs from what is public: both values, and who changed each. */
export function ChangesPanel({ editor, publishing }: Props) {
  const { drafts, form: words, shared } = useWords();
  const dialog = useDialog(publishing.close);
  const isPhone = useIsPhone();
  const { subject } = editor;
  const { lines, open, close, publishSaved } = publishing;
  const { changes, actions, status } = lines;
  const trial = useTrial(subject, lines);
  const isTyped = useFormStateOf(editor.form, (form) => form.isTyped());
  const [reason, setReason] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isNeeded = needsReason(subject);
  const publish = async () => {
    if (isNeeded && reason.trim() === '') return setProblem(words.reasonNeeded);
    setBusy(true);
    setProblem(null);
    try {
      await publishSaved(reason.trim() === '' ? {} : { reason: reason.trim() });
      close();
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
      // The panel then shows the draft as it is now, which may be another.
      void forget(slugOf(subject));
    }
  };
  return (
    <Modal
      {...dialog}
      title={status === 'draft' ? drafts.wouldPublishTitle : drafts.changesTitle}
      size="62rem"
      fullScreen={isPhone}
    >
      <div className={dialogStyles.body}>
        {changes?.length === 0 ? <p>{drafts.noChanges}</p> : <ChangesTable changes={changes ?? []} />}
        {isTyped && <p className={styles.soft}>{drafts.unsavedToo}</p>}
        <TrialNotes trial={trial} subject={subject} />
        {actions.publish && (
          <TextInput
            label={isNeeded ? shared.reason : shared.optionalReason}
            placeholder={shared.reasonHint}
            maxLength={500}
            required={isNeeded}
            value={reason}
            onChange={({ currentTarget }) => setReason(currentTarget.value)}
          />
        )}
        <p role="alert" className={styles.problem}>
          {problem}
        </p>
        <div className={dialogStyles.buttons}>
          {actions.discard && (
            <Button variant="default" onClick={() => open('discard')}>
              {drafts.discardIt}
            </Button>
          )}
          {actions.publish ? (
            <Button loading={isBusy} disabled={changes === null} onClick={() => void publish()} data-autofocus>
              {drafts.publishThese}
            </Button>
          ) : (
            <Button variant="default" onClick={close} data-autofocus>
              {shared.close}
            </Button>
          )}
        </div>
      </div>
    </Modal>
  );
}

function ChangesTable({ changes }: { changes: readonly LineChange[] }) {
  const { drafts } = useWords();
  const blame = useBlame();
  const hasWho = changes.some(({ field }) => blame?.has(field.name));
  return (
    <table className={styles.table}>
      <thead>
        <tr>
          <th scope="col">{drafts.field}</th>
          <th scope="col">{drafts.publicNow}</th>
          <th scope="col">{drafts.inDraft}</th>
          {hasWho && <th scope="col">{drafts.changedBy}</th>}
        </tr>
      </thead>
      <tbody>
        {changes.map(({ field, published, draft }) => (
          <tr key={field.name} data-change={field.name}>
            <th scope="row">{labelOf(field)}</th>
            <td data-label={drafts.publicNow}>
              <ShownValue field={field} value={published} />
            </td>
            <td data-label={drafts.inDraft}>
              <ShownValue field={field} value={draft} />
            </td>
            {hasWho && (
              <td className={styles.who}>
                <Changer name={field.name} />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The actor that set the value of a field, and how long ago. */
function Changer({ name }: { name: string }) {
  const { shared } = useWords();
  const language = useLanguage();
  const { user } = useAccount();
  const set = useBlame()?.get(name);
  if (set === undefined || set.version === null) return null;
  return (
    <span title={momentOf(set.recordedAt, language)}>
      {nameOfActor(set.actor, shared, user.id)}, {agoOf(set.recordedAt, language)}
    </span>
  );
}
