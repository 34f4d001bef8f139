import { type Editor, useEditorState } from '@tiptap/react';
import { type KeyboardEvent, type ReactNode, useRef } from 'react';
import { Icon, type IconName } from '../../../../theme/icons.tsx';
import { useWords, type Words } from '../../../../words/index.ts';
import styles from './input.module.css';
import { type Feature, features } from './shape.ts';

type Tool = { icon: IconName; keys?: string; run: (editor: Editor) => void };

const marks: Partial<Record<Feature, Tool>> = {
  bold: { icon: 'bold', keys: 'Mod B', run: (editor) => editor.chain().focus().toggleBold().run() },
  italic: { icon: 'italic', keys: 'Mod I', run: (editor) => editor.chain().focus().toggleItalic().run() },
  underline: { icon: 'underline', keys: 'Mod U', run: (editor) => editor.chain().focus().toggleUnderline().run() },
  strike: { icon: 'strike', keys: 'Mod Shift S', run: (editor) => editor.chain().focus().toggleStrike().run() },
  code: { icon: 'code', keys: 'Mod E', run: (editor) => editor.chain().focus().toggleCode().run() },
};

const blocks: Partial<Record<Feature, Tool>> = {
  bulletList: { icon: 'list', keys: 'Mod Shift 8', run: (editor) => editor.chain().focus().toggleBulletList().run() },
  orderedList: {
    icon: 'numbers',
    keys: 'Mod Shift 7',
    run: (editor) => editor.chain().focus().toggleOrderedList().run(),
  },
  blockquote: { icon: 'quote', keys: 'Mod Shift B', run: (editor) => editor.chain().focus().toggleBlockquote().run() },
  codeBlock: { icon: 'codeBlock', keys: 'Mod Alt C', run: (editor) => editor.chain().focus().toggleCodeBlock().run() },
  horizontalRule: { icon: 'rule', run: (editor) => editor.chain().focus().setHorizontalRule().run() },
};

type Props = {
  editor: Editor;
  features: readonly Feature[];
  label: string;
  open: (dialog: 'link' | 'image') => void;
};

/** The buttons above a text: one stop of the Tab key, arrow keys between them (the toolbar pattern of ARIA). */
export function Toolbar({ editor, features, label, open }: Props) {
  const { inputs } = useWords();
  const bar = useRef<HTMLDivElement>(null);
  const state = useToolbarState(editor);
  const walk = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined || event.target instanceof HTMLSelectElement) return;
    event.preventDefault();
    const stops = [...(bar.current?.querySelectorAll<HTMLElement>('button, select') ?? [])];
    const here = stops.indexOf(document.activeElement as HTMLElement);
    stops[(here + step + stops.length) % stops.length]?.focus();
  };
  const toolsOf = (tools: Partial<Record<Feature, Tool>>) =>
    Object.entries(tools).map(([name, tool]) => {
      const feature = name as Feature;
      if (!features.includes(feature)) return null;
      return (
        <Button
          key={name}
          icon={tool.icon}
          label={titleOf(inputs[feature as keyof Words['inputs']] as string, tool.keys)}
          isOn={state.active.includes(feature)}
          act={() => tool.run(editor)}
        />
      );
    });
  return (
    <div ref={bar} role="toolbar" aria-label={inputs.toolbar(label)} className={styles.toolbar} onKeyDown={walk}>
      {features.includes('heading') && <Style editor={editor} level={state.level} />}
      <Group>{toolsOf(marks)}</Group>
      <Group>
        {features.includes('link') && (
          <Button icon="link" label={inputs.link} isOn={state.active.includes('link')} act={() => open('link')} />
        )}
        {features.includes('image') && <Button icon="media" label={inputs.image} act={() => open('image')} />}
      </Group>
      <Group>{toolsOf(blocks)}</Group>
      <Group>
        <Button
          icon="undo"
          label={titleOf(inputs.undo, 'Mod Z')}
          isOff={!state.canUndo}
          act={() => editor.chain().focus().undo().run()}
        />
        <Button
          icon="redo"
          label={titleOf(inputs.redo, 'Mod Shift Z')}
          isOff={!state.canRedo}
          act={() => editor.chain().focus().redo().run()}
        />
      </Group>
    </div>
  );
}

const watched = features.filter((name) => !['heading', 'horizontalRule', 'image'].includes(name));

/** The marks and nodes at the cursor. */
function useToolbarState(editor: Editor) {
  return useEditorState({
    editor,
    selector: ({ editor }) => ({
      active: watched.filter((name) => editor.isActive(name)),
      level: editor.isActive('heading') ? Number(editor.getAttributes('heading').level) : 0,
      canUndo: editor.can().undo(),
      canRedo: editor.can().redo(),
    }),
  });
}

function titleOf(name: string, keys?: string): string {
  if (keys === undefined) return name;
  const isMac = /mac|iphone|ipad/i.test(navigator.userAgent);
  return `${name} (${isMac ? keys.replace('Mod', '⌘').replace('Shift', '⇧').replace('Alt', '⌥').replaceAll(' ', '') : keys.replace('Mod', 'Ctrl').replaceAll(' ', '+')})`;
}

function Group({ children }: { children: ReactNode }) {
  return <span className={styles.group}>{children}</span>;
}

type ButtonProps = { icon: IconName; label: string; isOn?: boolean; isOff?: boolean; act: () => void };

function Button({ icon, label, isOn, isOff = false, act }: ButtonProps) {
  return (
    <button
      type="button"
      className={styles.tool}
      aria-label={label}
      title={label}
      aria-pressed={isOn}
      aria-disabled={isOff || undefined}
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => !isOff && act()}
    >
      <Icon name={icon} size={17} />
    </button>
  );
}

const levels = [1, 2, 3, 4];

/** A paragraph or a heading. */
function Style({ editor, level }: { editor: Editor; level: number }) {
  const { inputs } = useWords();
  const shown = level > 4 ? [...levels, level] : levels;
  const set = (next: number) => {
    const chain = editor.chain().focus();
    if (next === 0) chain.setParagraph().run();
    else chain.setHeading({ level: next as 1 }).run();
  };
  return (
    <select
      className={styles.style}
      aria-label={inputs.style}
      value={level}
      onChange={(event) => set(Number(event.currentTarget.value))}
    >
      <option value={0}>{inputs.paragraph}</option>
      {shown.map((one) => (
        <option key={one} value={one}>
          {inputs.headingOf(one)}
        </option>
      ))}
    </select>
  );
}
