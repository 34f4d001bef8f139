import { Button } from '@mantine/core';
import { useRef, useState } from 'react';
import boxed from '../../../../parts/boxed.module.css';
import { sizeOf } from '../../../../parts/sizes.ts';
import type { Collection } from '../../../../schema/model.ts';
import { useCollection } from '../../../../service/model.tsx';
import { messageOf } from '../../../../service/queries.ts';
import { Icon } from '../../../../theme/icons.tsx';
import { useLanguage, useWords } from '../../../../words/index.ts';
import { acceptOf, type FileDocument } from '../../../media/files.ts';
import { LibraryDialog } from '../../../media/library/library-dialog.tsx';
import { Drop } from '../../../media/sending/drop.tsx';
import { PickButton } from '../../../media/sending/pick-button.tsx';
import { SendingRow } from '../../../media/sending/sending-row.tsx';
import { useQueue } from '../../../media/sending/use-queue.ts';
import { OrderedList } from '../relationship/list.tsx';
import { idsOf, withId, withoutId } from '../relationship/order.ts';
import { useTargets } from '../relationship/targets.ts';
import type { InputProps } from '../types.ts';
import styles from './input.module.css';
import { FileLine } from './line.tsx';

/** The input of an upload field: files are uploaded here or chosen from the library. */
export function UploadInput(props: InputProps) {
  const collection = useCollection(props.field.relationTo ?? '');
  if (collection === undefined) return <p className={styles.ids}>{idsOf(props.defaultValue).join(', ')}</p>;
  return <Files {...props} collection={collection} />;
}

type Props = InputProps & { collection: Collection };

/** The ids of a field, and the documents that are known: read, uploaded, or chosen. */
function useFiles({ field, collection, defaultValue, onChange }: Props) {
  const [ids, setIds] = useState(() => idsOf(defaultValue));
  // Several uploads may be under way: each file is added to the ids that are there when it arrives.
  const latest = useRef(ids);
  const [known, setKnown] = useState<ReadonlyMap<string, FileDocument>>(new Map());
  const read = useTargets(
    collection,
    ids.filter((id) => !known.has(id)),
  );
  const keep = (file: FileDocument) => setKnown((files) => new Map(files).set(file.id, file));
  const set = (next: string[]) => {
    latest.current = next;
    setIds(next);
    onChange(field.hasMany ? next : (next[0] ?? null));
  };
  return {
    ids,
    keep,
    error: read.error,
    isRead: read.isSuccess && !read.isPlaceholderData,
    fileOf: (id: string) => known.get(id) ?? (read.data?.find((one) => one.id === id) as FileDocument | undefined),
    set,
    add: (file: FileDocument) => {
      keep(file);
      set(field.hasMany ? withId(latest.current, file.id) : [file.id]);
    },
  };
}

function Files(props: Props) {
  const { field, collection, isDisabled } = props;
  const { media, shared } = useWords();
  const { ids, keep, error, isRead, fileOf, set, add } = useFiles(props);
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const { queue, ...sending } = useQueue(collection, {
    onSent: (file) => {
      setFresh((files) => new Set(files).add(file.id));
      add(file);
    },
  });
  const isMany = field.hasMany === true;
  const send = (files: File[]) => sending.add(isMany ? files : files.slice(0, 1));
  const canSend = !isDisabled && collection.access.create;
  const onWay = queue.filter(({ state }) => state !== 'sent');
  const items = ids.map((id) => {
    const file = fileOf(id);
    const content = (
      <FileLine
        key={id}
        collection={collection}
        id={id}
        file={file}
        isGone={isRead}
        isAwaited={!isRead && error === null}
        isFresh={fresh.has(id)}
        onSaved={keep}
      />
    );
    return { id, title: file?.filename ?? (isRead || error !== null ? id : ''), content };
  });
  return (
    <Drop className={styles.input} isOff={!canSend} onFiles={send}>
      {({ isOver }) => (
        <>
          {items.length > 0 && (
            <OrderedList
              path={props.path}
              items={items}
              isDisabled={isDisabled}
              onOrder={set}
              onRemove={(id) => {
                set(withoutId(ids, id));
                setTimeout(() => document.getElementById(props.id)?.focus());
              }}
            />
          )}
          {isDisabled && ids.length === 0 && <p className={styles.hint}>{shared.none}</p>}
          {error !== null && <p className={styles.problem}>{messageOf(error)}</p>}
          {onWay.length > 0 && (
            <ul className={boxed.rows} aria-label={media.sendings}>
              {onWay.map((one) => (
                <SendingRow key={one.key} sending={one} collection={collection} {...sending} />
              ))}
            </ul>
          )}
          {!isDisabled && (
            <Ways {...props} {...{ isOver, canSend, send, add }} isEmpty={ids.length === 0} without={ids} />
          )}
        </>
      )}
    </Drop>
  );
}

type WaysProps = Props & {
  isOver: boolean;
  isEmpty: boolean;
  canSend: boolean;
  without: readonly string[];
  send: (files: File[]) => void;
  add: (file: FileDocument) => void;
};

/** The buttons that choose a file from the disk or the library, and the area for drops. */
function Ways(props: WaysProps) {
  const { field, collection, id, isOver, isEmpty, canSend, send, add } = props;
  const { inputs } = useWords();
  const language = useLanguage();
  const [isOpen, setOpen] = useState(false);
  const { upload } = collection;
  const isMany = field.hasMany === true;
  const label = isMany ? inputs.chooseMany : isEmpty ? inputs.choose : inputs.replace;
  const control = { 'aria-describedby': props.describedBy, 'data-invalid': props.error !== undefined || undefined };
  return (
    <div className={[styles.ways, isEmpty && styles.zone, isOver && styles.over].filter(Boolean).join(' ')}>
      {canSend && (
        <PickButton
          id={id}
          size="xs"
          label={label}
          isMany={isMany}
          accept={upload === false ? undefined : acceptOf(upload.mimeTypes)}
          describedBy={props.describedBy}
          isInvalid={props.error !== undefined}
          onFiles={send}
        />
      )}
      <Button
        {...(canSend ? {} : { id, ...control })}
        size="xs"
        variant="default"
        leftSection={<Icon name="media" size={16} />}
        onClick={() => setOpen(true)}
      >
        {inputs.fromLibrary}
      </Button>
      {canSend && (
        <span className={styles.hint}>
          {isMany ? inputs.orDropMany : inputs.orDrop}
          {upload !== false && ` · ${inputs.atMost(sizeOf(upload.maxFileSize, language))}`}
        </span>
      )}
      {isOpen && (
        <LibraryDialog
          collection={collection}
          without={props.without}
          onClose={() => setOpen(false)}
          onChoose={(file) => {
            setOpen(false);
            add(file);
          }}
        />
      )}
    </div>
  );
}
