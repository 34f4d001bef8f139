import { Button, Group, Modal, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { messageOf } from '../service/queries.ts';
import { useWords } from '../words/index.ts';
import styles from './confirm.module.css';
import dialogStyles from './dialog.module.css';
import { useDialog } from './dialog.ts';

type Props = {
  title: string;
  children?: ReactNode;
  /** The label of the button that confirms. */
  button: string;
  isDangerous?: boolean;
  /** Whether a reason is asked for; `required` if the configuration demands one. */
  reason?: 'optional' | 'required';
  onClose: () => void;
  /** Does the action; an error is shown in the dialog. */
  confirm: (options: { reason?: string }) => Promise<void>;
};

/** Asks before an action that changes what other users see. */
export function Confirm({ title, children, button, isDangerous = false, reason, onClose, confirm }: Props) {
  const dialog = useDialog(onClose);
  const { shared } = useWords();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget).get('reason') ?? '').trim();
    setBusy(true);
    setProblem('');
    try {
      await confirm(text === '' ? {} : { reason: text });
      onClose();
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <Modal {...dialog} title={title}>
      <form onSubmit={submit} className={dialogStyles.body}>
        {children}
        {reason !== undefined && (
          <TextInput
            name="reason"
            label={reason === 'required' ? shared.reason : shared.optionalReason}
            description={shared.reasonHint}
            maxLength={500}
            required={reason === 'required'}
            data-autofocus
          />
        )}
        <p role="alert" className={styles.problem}>
          {problem}
        </p>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {shared.cancel}
          </Button>
          <Button type="submit" loading={isBusy} color={isDangerous ? 'red' : undefined} data-autofocus={!reason}>
            {button}
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
