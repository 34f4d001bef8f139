import { Modal, TextInput } from '@mantine/core';
import type { ApiKeyWithSecret } from '../../../../client/index.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import dialogStyles from '../../parts/dialog.module.css';
import { useDialog } from '../../parts/dialog.ts';
import { useWords } from '../../words/index.ts';

/** Shows the secret of a key, this one time. */
export function SecretDialog({ made, onClose }: { made: ApiKeyWithSecret; onClose: () => void }) {
  const dialog = useDialog(onClose);
  const { people } = useWords();
  return (
    <Modal {...dialog} closeOnClickOutside={false} title={people.secretTitle}>
      <div className={dialogStyles.body}>
        <p>{people.secretText}</p>
        <TextInput
          readOnly
          label={`${people.secret}: ${made.name}`}
          value={made.secret}
          onFocus={(event) => event.currentTarget.select()}
          data-autofocus
        />
        <CopyButton text={made.secret} variant="filled" size="sm" />
      </div>
    </Modal>
  );
}
