import { Button, Modal, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { ApiKeyWithSecret } from '../../../../client/index.ts';
import { useDialog } from '../../parts/dialog.ts';
import { useWords } from '../../words/index.ts';
import styles from './keys.module.css';

/** The one time that the secret of a key is shown. */
export function SecretDialog({ made, onClose }: { made: ApiKeyWithSecret; onClose: () => void }) {
  const { people, shared } = useWords();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(made.secret);
    setCopied(true);
  };
  return (
    <Modal
      {...useDialog()}
      opened
      onClose={onClose}
      closeOnClickOutside={false}
      title={people.secretTitle}
      closeButtonProps={{ 'aria-label': shared.close }}
    >
      <div className={styles.form}>
        <p>{people.secretText}</p>
        <TextInput
          readOnly
          label={`${people.secret}: ${made.name}`}
          value={made.secret}
          onFocus={(event) => event.currentTarget.select()}
          data-autofocus
        />
        {/* Browsers let a page copy only over HTTPS, and on this machine. */}
        {navigator.clipboard !== undefined && <Button onClick={copy}>{isCopied ? shared.copied : shared.copy}</Button>}
      </div>
    </Modal>
  );
}
