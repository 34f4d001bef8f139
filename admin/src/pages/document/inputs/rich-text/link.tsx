import { Button, Modal, TextInput } from '@mantine/core';
import type { Editor } from '@tiptap/react';
import { useState } from 'react';
import dialogStyles from '../../../../parts/dialog.module.css';
import { useDialog } from '../../../../parts/dialog.ts';
import { useWords } from '../../../../words/index.ts';
import styles from './input.module.css';
import { linkOf } from './shape.ts';

/** Asks for the address of a link. If no words are selected, the address is also the text of the link. */
export function LinkDialog({ editor, onClose }: { editor: Editor; onClose: () => void }) {
  const dialog = useDialog(onClose);
  const { inputs } = useWords();
  const [address, setAddress] = useState(String(editor.getAttributes('link').href ?? ''));
  const [isWrong, setWrong] = useState(false);
  const isLink = editor.isActive('link');
  const set = () => {
    const href = linkOf(address);
    if (href === null) return setWrong(true);
    const chain = editor.chain().focus().extendMarkRange('link');
    if (editor.state.selection.empty && !isLink) {
      chain.insertContent({ type: 'text', text: address.trim(), marks: [{ type: 'link', attrs: { href } }] }).run();
    } else chain.setMark('link', { href, collection: null, id: null }).run();
    onClose();
  };
  const remove = () => {
    editor.chain().focus().extendMarkRange('link').unsetMark('link').run();
    onClose();
  };
  return (
    <Modal {...dialog} title={inputs.link}>
      <div className={dialogStyles.body}>
        <TextInput
          data-autofocus
          label={inputs.linkAddress}
          description={inputs.linkHint}
          value={address}
          error={isWrong && inputs.linkWrong}
          onChange={(event) => {
            setAddress(event.currentTarget.value);
            setWrong(false);
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            set();
          }}
        />
        <div className={styles.buttons}>
          {isLink && (
            <Button variant="default" onClick={remove}>
              {inputs.linkRemove}
            </Button>
          )}
          <Button onClick={set}>{inputs.linkSet}</Button>
        </div>
      </div>
    </Modal>
  );
}
