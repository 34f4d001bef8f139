import { Button, Modal, TextInput } from '@mantine/core';
import { useState } from 'react';
import dialogStyles from '../../../parts/dialog.module.css';
import { useDialog } from '../../../parts/dialog.ts';
import { tell } from '../../../parts/toast.ts';
import { type Collection, isOfDrafts, viewOf } from '../../../schema/model.ts';
import { client } from '../../../service/client.ts';
import { forget, messageOf, useRead } from '../../../service/queries.ts';
import { addresses } from '../../../shell/addresses.ts';
import { Link, useGo } from '../../../shell/link.tsx';
import { useWords } from '../../../words/index.ts';
import styles from './editor.module.css';

type Props = {
  collection: Collection;
  id: string;
  title: string;
  etag: string | undefined;
  onClose: () => void;
  onDeleted: () => void;
};

/** Asks before a document is deleted, and says how many documents point at it. */
export function DeleteDialog({ collection, id, title, etag, onClose, onDeleted }: Props) {
  const dialog = useDialog(onClose);
  const { form: words, shared } = useWords();
  const go = useGo();
  const { slug, requireReason, isAuth } = collection;
  const [reason, setReason] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const { data } = useRead(['references', slug, id, 'count'], ({ signal }) =>
    client.collection(slug).references(id, { limit: 1, signal, ...viewOf(collection) }),
  );
  const erase = async () => {
    if (requireReason && reason.trim() === '') return setProblem(words.reasonNeeded);
    setBusy(true);
    setProblem(null);
    try {
      const options = { reason: reason.trim() || undefined, ifMatch: etag };
      const documents = client.collection(slug);
      await (isOfDrafts(collection)
        ? documents.delete(id, { ...options, draft: true })
        : documents.delete(id, options));
      onDeleted();
      tell(words.deleted);
      void forget(slug);
      go(isAuth ? addresses.people(slug) : addresses.list(slug), { replace: true });
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <Modal {...dialog} title={words.deleteTitle(title)}>
      <div className={dialogStyles.body}>
        <p>{words.deleteText}</p>
        {data !== undefined && data.total > 0 && (
          <p className={styles.warning}>
            {words.usedBy(data.total)} <Link to={addresses.references(slug, id)}>{words.showReferences}</Link>
          </p>
        )}
        <TextInput
          label={requireReason ? shared.reason : shared.optionalReason}
          placeholder={shared.reasonHint}
          maxLength={500}
          value={reason}
          onChange={({ currentTarget }) => setReason(currentTarget.value)}
          data-autofocus
        />
        <p role="alert" className={styles.problem}>
          {problem}
        </p>
        <div className={dialogStyles.buttons}>
          <Button variant="default" onClick={onClose}>
            {shared.cancel}
          </Button>
          <Button color="red" loading={isBusy} onClick={() => void erase()}>
            {shared.delete}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
