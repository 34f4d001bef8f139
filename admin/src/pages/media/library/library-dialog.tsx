import { Modal, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useDialog } from '../../../parts/dialog.ts';
import { Pager } from '../../../parts/pager.tsx';
import type { Collection } from '../../../schema/model.ts';
import { Failure } from '../../../shell/page.tsx';
import { Icon } from '../../../theme/icons.tsx';
import { useWords } from '../../../words/index.ts';
import type { FileDocument, FileKind } from '../files.ts';
import { Thumbnail } from '../thumbnail.tsx';
import styles from './library.module.css';
import { useLibrary } from './use-library.ts';

type Props = {
  collection: Collection;
  /** Ids that are not offered. */
  without: readonly string[];
  /** Only files of this kind; absent for all. */
  kind?: Extract<FileKind, 'image'>;
  onClose: () => void;
  onChoose: (file: FileDocument) => void;
};

/** A dialog to choose a file of a collection. */
export function LibraryDialog({ collection, without, kind, onClose, onChoose }: Props) {
  const dialog = useDialog(onClose);
  const { media } = useWords();
  const [typed, setTyped] = useState('');
  const [page, setPage] = useState(1);
  const [q] = useDebouncedValue(typed, 250);
  const { data, error, isPlaceholderData } = useLibrary(collection, { q, type: kind ?? '', sort: 'newest', page });
  const files = (data?.docs ?? []).filter(({ id }) => !without.includes(id));
  return (
    <Modal {...dialog} size="50rem" title={media.pick(collection.plural)}>
      <div className={styles.dialog}>
        <TextInput
          data-autofocus
          type="search"
          aria-label={media.search}
          placeholder={media.search}
          leftSection={<Icon name="search" size={16} />}
          value={typed}
          onChange={(event) => {
            setTyped(event.currentTarget.value);
            setPage(1);
          }}
          onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
        />
        {error !== null && <Failure error={error} />}
        {data !== undefined && files.length === 0 && <p className={styles.nothing}>{media.noMatch}</p>}
        <ul className={isPlaceholderData ? `${styles.grid} ${styles.old}` : styles.grid}>
          {files.map((file) => (
            <li key={file.id}>
              <button type="button" className={styles.card} onClick={() => onChoose(file)}>
                <span className={styles.picture}>
                  <Thumbnail file={file} isLarge />
                </span>
                <span className={styles.cardName}>{file.filename}</span>
              </button>
            </li>
          ))}
        </ul>
        {data !== undefined && <Pager page={page} pages={data.totalPages} setPage={setPage} />}
      </div>
    </Modal>
  );
}
