import { client } from '../../../service/client.ts';
import { Icon } from '../../../theme/icons.tsx';
import styles from './cell.module.css';

/** A larger picture is not loaded for a thumbnail of 32 pixels: the service has no smaller version of it. */
const mostBytes = 1_000_000;

/** A small picture of a file, else its name. */
export function Thumbnail({ file }: { file: object }) {
  const { filename, mimeType, filesize, url } = file as Record<string, unknown>;
  const name = typeof filename === 'string' ? filename : '';
  const isSmall = typeof filesize === 'number' && filesize <= mostBytes;
  const isPicture = typeof mimeType === 'string' && mimeType.startsWith('image/');
  if (typeof url === 'string' && isPicture && isSmall) {
    const source = client.mediaUrl(file);
    return <img className={styles.thumbnail} src={source} alt={name} title={name} loading="lazy" decoding="async" />;
  }
  return (
    <span className={styles.file}>
      <Icon name={isPicture ? 'media' : 'document'} size={16} />
      {name}
    </span>
  );
}
