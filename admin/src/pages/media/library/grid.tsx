import { Checkbox } from '@mantine/core';
import { sizeOf } from '../../../parts/sizes.ts';
import { useLanguage, useWords } from '../../../words/index.ts';
import type { FileDocument } from '../files.ts';
import { Thumbnail } from '../thumbnail.tsx';
import styles from './library.module.css';

type Props = {
  files: readonly FileDocument[];
  isOld: boolean;
  selected: readonly string[];
  /** Absent if nothing can be done with a selection. */
  onSelect: ((ids: string[]) => void) | undefined;
  onOpen: (id: string) => void;
};

/** A grid of files with their pictures. */
export function Grid({ files, isOld, selected, onSelect, onOpen }: Props) {
  const { media } = useWords();
  const language = useLanguage();
  const toggle = (id: string) =>
    onSelect?.(selected.includes(id) ? selected.filter((one) => one !== id) : [...selected, id]);
  return (
    <ul
      className={isOld ? `${styles.grid} ${styles.old}` : styles.grid}
      data-selecting={selected.length > 0 || undefined}
    >
      {files.map((file) => (
        <li key={file.id}>
          <button
            type="button"
            className={styles.card}
            data-selected={selected.includes(file.id) || undefined}
            onClick={() => onOpen(file.id)}
          >
            <span className={styles.picture}>
              <Thumbnail file={file} isLarge />
            </span>
            <span className={styles.cardName} title={file.filename}>
              {file.filename}
            </span>
            <span className={styles.cardAbout}>
              {sizeOf(file.filesize, language)}
              {file.width && file.height ? ` · ${file.width} × ${file.height}` : ''}
            </span>
          </button>
          {onSelect !== undefined && (
            <Checkbox
              className={styles.check}
              size="md"
              aria-label={media.select(file.filename)}
              checked={selected.includes(file.id)}
              onChange={() => toggle(file.id)}
            />
          )}
        </li>
      ))}
    </ul>
  );
}
