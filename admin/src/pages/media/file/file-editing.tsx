import { tell } from '../../../parts/toast.ts';
import { dataFields } from '../../../schema/fields.ts';
import type { Collection } from '../../../schema/model.ts';
import { client } from '../../../service/client.ts';
import { forget } from '../../../service/queries.ts';
import { useWords } from '../../../words/index.ts';
import { acceptOf, type FileDocument, withoutReason } from '../files.ts';
import styles from '../media.module.css';
import { PickButton } from '../sending/pick-button.tsx';
import { useSaving } from '../sending/saving.ts';
import { Texts } from '../sending/sending-row.tsx';
import { Sendings } from '../sending/sendings.tsx';
import { useQueue } from '../sending/use-queue.ts';

type Props = { collection: Collection; file: FileDocument };

/** The texts of a file: the alternative text, and what else is a line. The other fields are in its form. */
export function FileTexts({ collection, file }: Props) {
  const { inputs } = useWords();
  const { isBusy, problem, problems, save } = useSaving();
  const fields = dataFields(collection.fields).filter(({ type, access, admin }) => {
    return ['text', 'email', 'url'].includes(type) && access?.update !== false && !admin?.readOnly && !admin?.hidden;
  });
  if (fields.length === 0) return null;
  const submit = (texts: Record<string, string>) =>
    save(async () => {
      const { data, reason } = withoutReason(texts);
      const values = Object.entries(data).map(([name, text]) => [name, text === '' ? null : text]);
      await client.collection(collection.slug).update(file.id, Object.fromEntries(values), reason);
      tell(inputs.saved);
      await forget(collection.slug);
    });
  return (
    <section className={styles.part}>
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
    </section>
  );
}

/** Puts another file in the place of this one: what points at it shows the new one. */
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
