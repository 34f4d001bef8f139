import { Drawer } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useDialog } from '../../parts/dialog.ts';
import { type Collection, isOfDrafts } from '../../schema/model.ts';
import { useCollection } from '../../service/model.tsx';
import { useAccount } from '../../service/session.ts';
import { useWords } from '../../words/index.ts';
import styles from './editor/editor.module.css';
import { SaveActions } from './editor/editor-actions.tsx';
import { FormBody } from './editor/form-body.tsx';
import { useEditor } from './editor/use-editor.ts';
import { Level } from './fields/level.tsx';
import type { CreateDrawerProps } from './form/context.ts';
import { newKey } from './new-key.ts';
import { FailureBand } from './save/failure-band.tsx';
import { useSaveKey } from './save/save-key.ts';

/** Creates a document in a drawer beside another form, which stays as it is. */
export function CreateDrawer({ collection: slug, ...rest }: CreateDrawerProps) {
  const collection = useCollection(slug);
  return collection === undefined ? null : <DrawerForm collection={collection} {...rest} />;
}

function DrawerForm({
  collection,
  onClose,
  onCreated,
  prefill,
}: Omit<CreateDrawerProps, 'collection'> & { collection: Collection }) {
  const { form: words } = useWords();
  const account = useAccount();
  const [draftId] = useState(() => `new-${newKey()}`);
  const editor = useEditor({
    subject: { kind: 'document', collection, id: null },
    account,
    read: null,
    prefill: prefill ?? null,
    draftId,
    found: null,
    isReadOnly: false,
    onCreated: (document) => onCreated(document as { id: string }),
    Level,
    CreateDrawer,
  });
  const publish = isOfDrafts(collection) && collection.access.publish ? editor.publish : undefined;
  useSaveKey(editor.save, publish);
  const dialog = useDialog(onClose);
  const { root } = editor;
  useEffect(() => {
    // The drawer gives the focus to its first button.
    const timer = setTimeout(() => root.current?.querySelector<HTMLElement>('input, textarea, select')?.focus(), 100);
    return () => clearTimeout(timer);
  }, [root]);
  return (
    <Drawer {...dialog} title={words.newDocument(collection.singular)} size="min(40rem, 100vw)">
      {/* Keys and clicks in the drawer must not reach the form below. */}
      <FailureBand editor={editor} />
      <FormBody editor={editor} facts={null} />
      <div className={styles.drawerFoot}>
        <SaveActions editor={editor} publishing={null} publish={publish} />
      </div>
    </Drawer>
  );
}
