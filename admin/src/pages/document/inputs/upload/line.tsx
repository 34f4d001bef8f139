import { useState } from 'react';
import type { Collection } from '../../../../schema/model.ts';
import { client } from '../../../../service/client.ts';
import { forget } from '../../../../service/queries.ts';
import { Icon } from '../../../../theme/icons.tsx';
import { useLanguage, useWords } from '../../../../words/index.ts';
import { askedFields, type FileDocument, sizeOf, withoutReason } from '../../../media/files.ts';
import { useSaving } from '../../../media/sending/saving.ts';
import { Texts } from '../../../media/sending/sending-row.tsx';
import { Thumbnail } from '../../../media/thumbnail.tsx';
import { Awaited } from '../relationship/list.tsx';
import styles from './input.module.css';

type Props = {
  collection: Collection;
  id: string;
  file: FileDocument | undefined;
  /** Whether a file that is not known is known not to be there. */
  isGone: boolean;
  /** It is being read. */
  isAwaited: boolean;
  /** It was uploaded just now, so its texts are asked for. */
  isFresh: boolean;
  onSaved: (file: FileDocument) => void;
};

/** A file of a field: its picture, its name, what it is. */
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

/** Asks for the texts of a file that has come without them, the alternative text above all. */
function FreshTexts({ collection, file, onSaved }: Pick<Props, 'collection' | 'onSaved'> & { file: FileDocument }) {
  const { inputs } = useWords();
  const [isDone, setDone] = useState(false);
  const { isBusy, problem, problems, save } = useSaving();
  const fields = askedFields(collection).filter(({ name, access }) => !file[name] && access?.update !== false);
  if (isDone) {
    return (
      <small role="status" className={styles.done}>
        <Icon name="check" size={14} /> {inputs.saved}
      </small>
    );
  }
  if (fields.length === 0 || !collection.access.update) return null;
  const submit = (texts: Record<string, string>) =>
    save(async () => {
      const { data, reason } = withoutReason(texts);
      const saved = await client.collection(collection.slug).update(file.id, data, reason);
      setDone(true);
      onSaved(saved as unknown as FileDocument);
      await forget(collection.slug);
    });
  return (
    <>
      <Texts
        fields={fields}
        values={file}
        {...{ problems, isBusy }}
        submit={inputs.saveTexts}
        needsReason={collection.requireReason}
        onSubmit={submit}
      />
      {problem !== null && (
        <p role="alert" className={styles.problem}>
          {problem}
        </p>
      )}
    </>
  );
}
