import { tell } from '../../../parts/toast.ts';
import { dataFields } from '../../../schema/fields.ts';
import type { Collection } from '../../../schema/model.ts';
import { useWords } from '../../../words/index.ts';
import { acceptOf, type FileDocument } from '../files.ts';
import styles from '../media.module.css';
import { PickButton } from '../sending/pick-button.tsx';
import { Sendings } from '../sending/sendings.tsx';
import { useQueue } from '../sending/use-queue.ts';
import { SavedTexts } from './texts.tsx';

type Props = { collection: Collection; file: FileDocument };

/** The texts of a file: the alternative text and other fields of one line. The other fields are in its form. */
export function FileTexts({ collection, file }: Props) {
  const { inputs } = useWords();
  const fields = dataFields(collection.fields).filter(({ type, access, admin }) => {
    return ['text', 'email', 'url'].includes(type) && access?.update !== false && !admin?.readOnly && !admin?.hidden;
  });
  if (fields.length === 0) return null;
  return (
    <section className={styles.part}>
      <SavedTexts {...{ collection, file, fields }} onSaved={() => tell(inputs.saved)} />
    </section>
  );
}

/** Replaces a file: the documents that point at it then show the new one. */
export function Replacement({ collection, file }: Props) {
  const { media, inputs } = useWords();
  const { queue, ...sending } = useQueue(collection, { replaced: file.id, onSent: () => tell(inputs.saved) });
  const { upload } = collection;
  if (upload === false) return null;
  return (
    <section className={styles.part}>
      <div className={styles.buttons}>
        <PickButton
          size="xs"
          label={media.replaceFile}
          accept={acceptOf(upload.mimeTypes)}
          onFiles={(files) => sending.add(files.slice(0, 1))}
        />
        <small className={styles.soft}>{media.replacing}</small>
      </div>
      <Sendings
        queue={queue.filter(({ state }) => state !== 'sent')}
        collection={collection}
        isReplacement
        {...sending}
      />
    </section>
  );
}
