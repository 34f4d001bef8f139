import { useState } from 'react';
import { sizeOf } from '../../../../parts/sizes.ts';
import type { Collection } from '../../../../schema/model.ts';
import { client } from '../../../../service/client.ts';
import { Icon } from '../../../../theme/icons.tsx';
import { useLanguage, useWords } from '../../../../words/index.ts';
import { SavedTexts } from '../../../media/file/texts.tsx';
import { askedFields, type FileDocument } from '../../../media/files.ts';
import { Thumbnail } from '../../../media/thumbnail.tsx';
import { Awaited } from '../relationship/list.tsx';
import styles from './input.module.css';

type Props = {
  collection: Collection;
  id: string;
  file: FileDocument | undefined;
  /** True if it is known that there is no such file. */
  isGone: boolean;
  /** True while the file is being read. */
  isAwaited: boolean;
  /** True if the file was uploaded just now: the line then asks for its texts. */
  isFresh: boolean;
  onSaved: (file: FileDocument) => void;
};

/** A file of a field: its picture, name, type and size. */
export function FileLine({ collection, id, file, isGone, isAwaited, isFresh, onSaved }: Props) {
  const { inputs } = useWords();
  const language = useLanguage();
  if (file === undefined) {
    return (
      <span className={styles.line}>
        {isAwaited ? <Awaited /> : <span className={styles.name}>{id}</span>}
        {isGone && <small className={styles.gone}>{inputs.gone}</small>}
      </span>
    );
  }
  const label = inputs.openInTab(file.filename);
  const alt = typeof file.alt === 'string' ? file.alt : '';
  return (
    <span className={styles.line}>
      <Thumbnail file={file} alt={alt} />
      <span className={styles.about}>
        <a href={client.mediaUrl(file)} target="_blank" rel="noreferrer" className={styles.name} title={label}>
          {file.filename}
        </a>
        <small>
          {sizeOf(file.filesize, language)} · {file.mimeType}
        </small>
        {isFresh && <FreshTexts collection={collection} file={file} onSaved={onSaved} />}
      </span>
    </span>
  );
}

/** Asks for the texts of a file that was uploaded without them, above all the alternative text. */
function FreshTexts({ collection, file, onSaved }: Pick<Props, 'collection' | 'onSaved'> & { file: FileDocument }) {
  const { inputs } = useWords();
  const [isDone, setDone] = useState(false);
  const fields = askedFields(collection).filter(({ name, access }) => !file[name] && access?.update !== false);
  if (isDone) {
    return (
      <small role="status" className={styles.done}>
        <Icon name="check" size={14} /> {inputs.saved}
      </small>
    );
  }
  if (fields.length === 0 || !collection.access.update) return null;
  const finish = (saved: FileDocument) => {
    setDone(true);
    onSaved(saved);
  };
  return <SavedTexts {...{ collection, file, fields }} onSaved={finish} />;
}
