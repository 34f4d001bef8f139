import { NodeViewWrapper, type ReactNodeViewProps } from '@tiptap/react';
import { Action } from '../../../../parts/action.tsx';
import { client } from '../../../../service/client.ts';
import { keys, useRead } from '../../../../service/queries.ts';
import { useWords } from '../../../../words/index.ts';
import { type FileDocument, shownMembers } from '../../../media/files.ts';
import { Thumbnail } from '../../../media/thumbnail.tsx';
import styles from './input.module.css';

/** A picture in the text, with an input for its alternative text. */
export function Picture({ node, selected, editor, updateAttributes, deleteNode }: ReactNodeViewProps) {
  const { inputs } = useWords();
  const { collection, id, src, alt } = node.attrs as Record<'collection' | 'id' | 'src' | 'alt', string | null>;
  const { data, isSuccess } = useRead(
    [...keys.document(collection ?? '', id ?? ''), 'picture'],
    (reading) => client.collection(collection ?? '').findOne(id ?? '', { ...reading, select: shownMembers }),
    { enabled: collection !== null && id !== null },
  );
  const file = data as FileDocument | null | undefined;
  const name = file?.filename ?? (src === null ? (id ?? '') : inputs.pictureOf(src));
  return (
    <NodeViewWrapper className={selected ? `${styles.picture} ${styles.selected}` : styles.picture} data-drag-handle="">
      {file ? (
        <span className={styles.frame}>
          <Thumbnail file={file} alt={alt ?? ''} isLarge />
        </span>
      ) : (
        <span className={styles.absent}>
          {name} {isSuccess && file === null && inputs.gone}
        </span>
      )}
      <span className={styles.caption} contentEditable={false}>
        {editor.isEditable ? (
          <>
            <input
              aria-label={inputs.pictureAlt}
              placeholder={inputs.alt}
              defaultValue={alt ?? ''}
              maxLength={1000}
              onChange={({ currentTarget: { value } }) => updateAttributes({ alt: value === '' ? null : value })}
              onKeyDown={(event) => {
                if (event.key === 'Enter') event.preventDefault();
                event.stopPropagation();
              }}
            />
            <Action icon="close" label={inputs.removeNamed(name)} act={deleteNode} />
          </>
        ) : (
          alt
        )}
      </span>
    </NodeViewWrapper>
  );
}
