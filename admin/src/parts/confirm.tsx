import { Button, Group, Modal, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { messageOf } from '../service/queries.ts';
import { useWords } from '../words/index.ts';
import styles from './confirm.module.css';
import { useDialog } from './dialog.ts';

type Props = {
  title: string;
  children?: ReactNode;
  /** The word of the button that does it. */
  button: string;
  isDangerous?: boolean;
  /** Whether a reason is asked for; `required` where the configuration demands one. */
  reason?: 'optional' | 'required';
  onClose: () => void;
  /** Does it; an error stays in the dialog. */
  confirm: (options: { reason?: string }) => Promise<void>;
};

/** A question before something is done that changes what others see. */
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
      <form onSubmit={submit} className={styles.form}>
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
