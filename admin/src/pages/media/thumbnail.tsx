import { useState } from 'react';
import { client } from '../../service/client.ts';
import { Icon, type IconName } from '../../theme/icons.tsx';
import { extensionOf, type FileDocument, type FileKind, kindOf } from './files.ts';
import styles from './thumbnail.module.css';

const icons: Record<FileKind, IconName> = {
  image: 'media',
  video: 'video',
  audio: 'audio',
  text: 'document',
  other: 'document',
};

type Props = { file: Pick<FileDocument, 'filename' | 'mimeType' | 'url'>; isLarge?: boolean; alt?: string };

/** The thumbnail of a file: the picture itself if the browser can show it, else the kind of the file. */
export function Thumbnail({ file, isLarge = false, alt = '' }: Props) {
  const [isBroken, setBroken] = useState(false);
  const kind = kindOf(file.mimeType);
  const size = isLarge ? styles.large : styles.small;
  if (kind === 'image' && !isBroken) {
    const address = client.mediaUrl(file);
    return (
      <span className={`${styles.frame} ${size}`}>
        <img key={address} src={address} alt={alt} loading="lazy" decoding="async" onError={() => setBroken(true)} />
      </span>
    );
  }
  return (
    <span className={`${styles.frame} ${size} ${styles.kind}`}>
      <Icon name={icons[kind]} size={isLarge ? 32 : 18} />
      <small aria-hidden="true">{extensionOf(file.filename)}</small>
    </span>
  );
}
