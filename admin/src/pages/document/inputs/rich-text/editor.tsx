import type { EditorView } from '@tiptap/pm/view';
import { EditorContent, useEditor } from '@tiptap/react';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { labelOf } from '../../../../schema/fields.ts';
import { useModel } from '../../../../service/model.tsx';
import { LibraryDialog } from '../../../media/library/library-dialog.tsx';
import type { InputProps } from '../types.ts';
import { extensionsOf, taken } from './extensions.ts';
import styles from './input.module.css';
import { LinkDialog } from './link.tsx';
import { pasted } from './paste.ts';
import { type Feature, linkOf, usedFeatures, withoutNulls } from './shape.ts';
import { Toolbar } from './toolbar.tsx';

type Props = InputProps & {
  doc: Record<string, unknown> | null;
  /** The features of the toolbar; other features that the document uses are kept. */
  allowed: readonly Feature[];
  /** Shown instead of the editor if it could not keep the whole document. */
  broken: ReactNode;
};

/** The editor of rich text. It is loaded when a field needs it. */
export function RichTextEditor(props: Props) {
  const { doc, allowed } = props;
  // Read once, as every input does.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another document comes with another key
  const { extensions, content } = useMemo(() => {
    const extensions = extensionsOf(new Set([...allowed, ...usedFeatures(doc)]));
    return { extensions, content: doc === null ? '' : taken(extensions, doc) };
  }, []);
  if (content === null) return props.broken;
  return <Box {...props} extensions={extensions} content={content} />;
}

type BoxProps = Props & { extensions: ReturnType<typeof extensionsOf>; content: NonNullable<ReturnType<typeof taken>> };

function Box({ field, id, allowed, extensions, content, isDisabled, error, describedBy, onChange }: BoxProps) {
  const [open, setOpen] = useState<'link' | 'image' | null>(null);
  const pictures = usePictures();
  const attributes = attributesOf({ id, label: labelOf(field), isInvalid: error !== undefined, describedBy });
  const editor = useEditor({
    extensions,
    content,
    editable: !isDisabled,
    injectCSS: false,
    editorProps: { attributes, handlePaste: pasteLink, transformPastedHTML: pasted, handleDrop: refuseFiles },
    onUpdate: ({ editor }) => onChange(editor.isEmpty ? null : withoutNulls(editor.getJSON())),
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the attributes change only with these words
  useEffect(() => {
    editor.setOptions({ editorProps: { ...editor.options.editorProps, attributes } });
    editor.setEditable(!isDisabled, false);
  }, [editor, isDisabled, JSON.stringify(attributes)]);
  const close = () => {
    setOpen(null);
    editor.commands.focus();
  };
  const offered = pictures === undefined ? allowed.filter((feature) => feature !== 'image') : allowed;
  return (
    <div className={styles.box} data-invalid={error !== undefined || undefined} data-off={isDisabled || undefined}>
      {!isDisabled && <Toolbar editor={editor} features={offered} label={labelOf(field)} open={setOpen} />}
      <EditorContent
        editor={editor}
        className={styles.text}
        style={{ minHeight: `${(field.admin?.rows ?? 6) * 1.6}em` }}
      />
      {open === 'link' && <LinkDialog editor={editor} onClose={close} />}
      {open === 'image' && pictures !== undefined && (
        <LibraryDialog
          collection={pictures}
          kind="image"
          without={[]}
          onClose={close}
          onChoose={(file) => {
            const alt = typeof file.alt === 'string' && file.alt !== '' ? file.alt : null;
            const attrs = { collection: pictures.slug, id: file.id, alt };
            setOpen(null);
            editor.chain().focus().insertContent({ type: 'image', attrs }).run();
          }}
        />
      )}
    </div>
  );
}

/** The collection that pictures are chosen from: the first upload collection that takes them. */
function usePictures() {
  const { collections } = useModel();
  return collections.values().find(({ upload, access }) => {
    if (!upload || !access.read) return false;
    return (
      upload.mimeTypes === undefined || upload.mimeTypes.some((type) => type === '*/*' || type.startsWith('image/'))
    );
  });
}

function attributesOf(box: { id: string; label: string; isInvalid: boolean; describedBy: string | undefined }) {
  const { id, label, isInvalid, describedBy } = box;
  return {
    id,
    role: 'textbox',
    'aria-multiline': 'true',
    'aria-label': label,
    ...(isInvalid ? { 'aria-invalid': 'true' } : {}),
    ...(describedBy === undefined ? {} : { 'aria-describedby': describedBy }),
  };
}

/** Makes a link of the selected words if an address is pasted over them. */
function pasteLink(view: EditorView, event: ClipboardEvent): boolean {
  const { state } = view;
  const href = linkOf(event.clipboardData?.getData('text/plain') ?? '');
  const mark = state.schema.marks.link;
  if (href === null || !/^https?:/i.test(href) || mark === undefined || state.selection.empty) return false;
  view.dispatch(state.tr.addMark(state.selection.from, state.selection.to, mark.create({ href })));
  return true;
}

/** Ignores dropped files: the browser would open the file in place of the page. */
function refuseFiles(_view: unknown, event: DragEvent): boolean {
  if (!event.dataTransfer?.types.includes('Files')) return false;
  event.preventDefault();
  return true;
}
