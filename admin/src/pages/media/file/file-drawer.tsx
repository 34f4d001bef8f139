import { Button, Drawer } from '@mantine/core';
import { useState } from 'react';
import { CopyButton } from '../../../parts/copy-button.tsx';
import { useDialog } from '../../../parts/dialog.ts';
import { sizeOf } from '../../../parts/sizes.ts';
import { Ago } from '../../../parts/times.tsx';
import type { Collection } from '../../../schema/model.ts';
import { useAsOf } from '../../../service/as-of.ts';
import { client } from '../../../service/client.ts';
import { keys, useRead } from '../../../service/queries.ts';
import { AbsenceNotice, useAbsence } from '../../../shell/absent.tsx';
import { addresses } from '../../../shell/addresses.ts';
import { Link } from '../../../shell/link.tsx';
import { Loading } from '../../../shell/loading.tsx';
import { Failure, Notice } from '../../../shell/page.tsx';
import { Icon } from '../../../theme/icons.tsx';
import { useLanguage, useWords } from '../../../words/index.ts';
import { type FileDocument, kindOf } from '../files.ts';
import styles from '../media.module.css';
import { Thumbnail } from '../thumbnail.tsx';
import { Deletion } from './deletion.tsx';
import { FileTexts, Replacement } from './file-editing.tsx';
import { UsedBy } from './file-used-by.tsx';

type Props = { collection: Collection; id: string; onClose: () => void };

/** The details of a file, in a drawer beside the library. */
export function FileDrawer({ collection, id, onClose }: Props) {
  const dialog = useDialog(onClose);
  const { media, inputs } = useWords();
  const { data, error, isSuccess } = useRead(keys.document(collection.slug, id), (reading) =>
    client.collection(collection.slug).findOne(id, reading),
  );
  const isNow = useAsOf() === null;
  const { data: absence } = useAbsence({ slug: collection.slug, id }, data === null);
  const file = data as FileDocument | null | undefined;
  return (
    <Drawer
      {...dialog}
      size="28rem"
      title={file?.filename ?? media.details}
      classNames={{ title: styles.drawerTitle ?? '' }}
    >
      {error !== null && <Failure error={error} />}
      {file && <Details collection={collection} file={file} onClose={onClose} />}
      {file === null && isNow && <Notice icon="media" title={inputs.gone} />}
      {absence !== undefined && <AbsenceNotice absence={absence} />}
      {!isSuccess && error === null && <Loading />}
    </Drawer>
  );
}

type DetailsProps = { collection: Collection; file: FileDocument; onClose: () => void };

function Details({ collection, file, onClose }: DetailsProps) {
  const { media } = useWords();
  const isPast = useAsOf() !== null;
  const [isDeleting, setDeleting] = useState(false);
  const { access, slug } = collection;
  return (
    <div className={styles.details}>
      <Preview file={file} />
      <Facts file={file} />
      <div className={styles.buttons}>
        <CopyButton text={new URL(client.mediaUrl(file), location.href).href} label={media.copyAddress} />
        <Button
          component="a"
          href={client.mediaUrl(file)}
          target="_blank"
          rel="noreferrer"
          size="xs"
          variant="default"
          leftSection={<Icon name="open" size={16} />}
        >
          {media.openFile}
        </Button>
        <Link to={addresses.document(slug, file.id)} className={styles.toForm}>
          {media.openDocument}
        </Link>
      </div>
      {access.update && !isPast && (
        <>
          <FileTexts key={file.filename} collection={collection} file={file} />
          <Replacement collection={collection} file={file} />
        </>
      )}
      <UsedBy collection={collection} id={file.id} />
      {access.delete && !isPast && (
        <Button
          className={styles.delete}
          size="xs"
          variant="default"
          leftSection={<Icon name="trash" size={16} />}
          onClick={() => setDeleting(true)}
        >
          {media.deleteSelected}
        </Button>
      )}
      {isDeleting && (
        <Deletion
          collection={collection}
          ids={[file.id]}
          onClose={() => setDeleting(false)}
          onDeleted={(ids) => ids.length > 0 && onClose()}
        />
      )}
    </div>
  );
}

/** The file itself, if the browser can show it. */
function Preview({ file }: { file: FileDocument }) {
  const kind = kindOf(file.mimeType);
  const address = client.mediaUrl(file);
  const alt = typeof file.alt === 'string' ? file.alt : '';
  // biome-ignore lint/a11y/useMediaCaption: the library has no captions beside its files
  if (kind === 'video') return <video className={styles.preview} src={address} controls preload="metadata" />;
  // biome-ignore lint/a11y/useMediaCaption: the library has no captions beside its files
  if (kind === 'audio') return <audio className={styles.sound} src={address} controls preload="metadata" />;
  return (
    <div className={styles.preview}>
      <Thumbnail file={file} alt={alt} isLarge />
    </div>
  );
}

function Facts({ file }: { file: FileDocument }) {
  const { media } = useWords();
  const language = useLanguage();
  const facts = [
    [media.type, file.mimeType],
    [media.size, sizeOf(file.filesize, language)],
    [media.dimensions, file.width && file.height ? `${file.width} × ${file.height}` : null],
    [media.uploaded, file.createdAt ? <Ago key="ago" moment={file.createdAt} /> : null],
  ] as const;
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) =>
        value === null ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
