import { ActionIcon, Button, Menu, TextInput } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { useAsOf } from '../../../service/as-of.ts';
import { useModel } from '../../../service/model.tsx';
import { addresses } from '../../../shell/addresses.ts';
import { useGo } from '../../../shell/link.tsx';
import { useShortcuts } from '../../../shell/shortcuts.tsx';
import { Icon } from '../../../theme/icons.tsx';
import { useWords } from '../../../words/index.ts';
import { useFormStateOf } from '../form/context.ts';
import { PreviewButton } from '../preview/preview-button.tsx';
import { needsReason } from '../save/subject.ts';
import styles from './editor.module.css';
import type { EditorView } from './use-editor.ts';

type Props = {
  editor: EditorView;
  /** False on a phone, where Save is at the bottom of the page. */
  hasSave: boolean;
  openDelete: () => void;
};

/** The Save button with the reason beside it, and the other actions on the document. */
export function EditorActions({ editor, hasSave, openDelete }: Props) {
  return (
    <>
      {hasSave && !editor.place.isReadOnly && <SaveActions editor={editor} />}
      <PreviewButton subject={editor.subject} />
      <MoreMenu editor={editor} openDelete={openDelete} />
    </>
  );
}

/** The input of the reason, and the Save button. */
export function SaveActions({ editor }: { editor: EditorView }) {
  const { form: words, shared } = useWords();
  const { form, id, subject, reason, reasonProblem, setReason, isSaving, save, place } = editor;
  const isChanged = useFormStateOf(form, (one) => one.isChanged());
  const needed = needsReason(subject);
  return (
    <>
      <KeptMark editor={editor} isChanged={isChanged} />
      {/* The mark has its place before it is shown, so that nothing moves when the first letter is typed. */}
      <TextInput
        id={`${id}-reason`}
        className={isChanged || needed || reason !== '' ? styles.reason : `${styles.reason} ${styles.idle}`}
        aria-label={needed ? shared.reason : shared.optionalReason}
        placeholder={words.reasonPlaceholder}
        maxLength={500}
        value={reason}
        required={needed}
        error={reasonProblem}
        onChange={({ currentTarget }) => setReason(currentTarget.value)}
      />
      <Button
        onClick={save}
        variant={isChanged || place.isNew ? 'filled' : 'default'}
        data-saving={isSaving || undefined}
        data-save=""
      >
        {isSaving ? words.saving : place.isNew ? words.createIt : shared.save}
      </Button>
    </>
  );
}

/** Says whether the unsaved changes are kept, and where. */
function KeptMark({ editor: { autosave }, isChanged }: { editor: EditorView; isChanged: boolean }) {
  const { form: words } = useWords();
  const state = useSyncExternalStore(autosave.subscribe, autosave.state);
  const texts = {
    none: '',
    waiting: words.unsaved,
    here: words.keptHere,
    service: words.changesKept,
    failed: words.notKept,
  };
  return (
    <span className={styles.kept} data-kept={isChanged ? state : 'none'} aria-live="off">
      {isChanged ? texts[state] : ''}
    </span>
  );
}

function MoreMenu({ editor, openDelete }: { editor: EditorView; openDelete: () => void }) {
  const { form: words } = useWords();
  const { audit } = useModel();
  const asOf = useAsOf();
  const go = useGo();
  const { subject } = editor;
  const items: { name: string; icon: 'copy' | 'history' | 'link' | 'trash'; act: () => void }[] = [];
  if (subject.kind === 'global') {
    if (audit.has('headers'))
      items.push({ name: words.history, icon: 'history', act: () => go(addresses.globalHistory(subject.global.slug)) });
  } else if (subject.id !== null) {
    const { collection, id } = subject;
    const { slug, access, isAuth, upload } = collection;
    const mayCopy = access.create && !isAuth && !upload && asOf === null;
    if (mayCopy)
      items.push({ name: words.duplicate, icon: 'copy', act: () => go(`${addresses.create(slug)}?from=${id}`) });
    if (audit.has('headers') || collection.hasPublicHistory) {
      items.push({ name: words.history, icon: 'history', act: () => go(addresses.history(slug, id)) });
    }
    items.push({ name: words.references, icon: 'link', act: () => go(addresses.references(slug, id)) });
    if (access.delete && asOf === null) items.push({ name: words.deleteIt, icon: 'trash', act: openDelete });
  }
  const history = items.find(({ icon }) => icon === 'history');
  useShortcuts(history === undefined ? [] : [{ keys: 'h', run: history.act }]);
  if (items.length === 0) return null;
  return (
    <Menu position="bottom-end" width={200}>
      <Menu.Target>
        <ActionIcon variant="default" size="lg" aria-label={words.actions}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {items.map(({ name, icon, act }) => (
          <Menu.Item key={name} leftSection={<Icon name={icon} size={16} />} onClick={act}>
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
