import { ActionIcon, Button, Menu, TextInput } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { isOfDrafts } from '../../../schema/model.ts';
import { useAsOf } from '../../../service/as-of.ts';
import { useModel } from '../../../service/model.tsx';
import { addresses } from '../../../shell/addresses.ts';
import { useGo } from '../../../shell/link.tsx';
import { useShortcuts } from '../../../shell/shortcuts.tsx';
import { Icon } from '../../../theme/icons.tsx';
import { useWords } from '../../../words/index.ts';
import { useFormStateOf } from '../form/context.ts';
import { PreviewButton } from '../preview/preview-button.tsx';
import { PublishButton, PublishMenu } from '../publishing/publish-buttons.tsx';
import type { Publishing } from '../publishing/use-publishing.ts';
import { configOf, needsReason } from '../save/subject.ts';
import styles from './editor.module.css';
import type { EditorView } from './use-editor.ts';

type SaveProps = {
  editor: EditorView;
  /** The lines of the document; null without drafts, and for a new document. */
  publishing: Publishing | null;
  /** Publishes what is in the form; undefined for users who cannot. */
  publish: (() => void) | undefined;
};

type Props = SaveProps & {
  /** False on a phone, where Save is at the bottom of the page. */
  hasSave: boolean;
  openDelete: () => void;
};

/** The Save button with the reason beside it, and the other actions on the document. */
export function EditorActions({ hasSave, openDelete, ...saving }: Props) {
  const { editor, publish, publishing } = saving;
  const hasActions = !editor.place.isReadOnly || publish !== undefined;
  return (
    <>
      {hasSave && hasActions && <SaveActions {...saving} />}
      <PreviewButton subject={editor.subject} />
      <MoreMenu editor={editor} publishing={publishing} openDelete={openDelete} />
    </>
  );
}

/** The input of the reason, the button that saves and, with drafts, the button that publishes. */
export function SaveActions({ editor, publishing, publish }: SaveProps) {
  const { form: words, shared } = useWords();
  const { form, id, subject, reason, reasonProblem, setReason, isPublishing, place } = editor;
  const isChanged = useFormStateOf(form, (one) => one.isChanged());
  const isAhead = publish !== undefined && publishing !== null && publishing.lines.status !== 'published';
  const needed = needsReason(subject);
  return (
    <>
      <KeptMark editor={editor} isChanged={isChanged} />
      {/* The mark has its place before it is shown, so that nothing moves when the first letter is typed. */}
      <TextInput
        id={`${id}-reason`}
        className={isChanged || isAhead || needed || reason !== '' ? styles.reason : `${styles.reason} ${styles.idle}`}
        aria-label={needed ? shared.reason : shared.optionalReason}
        placeholder={words.reasonPlaceholder}
        maxLength={500}
        value={reason}
        required={needed}
        error={reasonProblem}
        onChange={({ currentTarget }) => setReason(currentTarget.value)}
      />
      {!place.isReadOnly && <SaveButton editor={editor} isMain={(isChanged || place.isNew) && publish === undefined} />}
      {publish !== undefined && (
        <PublishButton publish={publish} isBusy={isPublishing} isNeeded={isChanged || place.isNew || isAhead} />
      )}
      {publishing !== null && <PublishMenu publishing={publishing} />}
    </>
  );
}

function SaveButton({ editor, isMain }: { editor: EditorView; isMain: boolean }) {
  const { form: words, drafts, shared } = useWords();
  const { subject, isSaving, save, place } = editor;
  const create = isOfDrafts(configOf(subject)) ? drafts.createDraft : words.createIt;
  const change = isOfDrafts(configOf(subject)) ? drafts.saveDraft : shared.save;
  return (
    <Button onClick={save} variant={isMain ? 'filled' : 'default'} data-saving={isSaving || undefined} data-save="">
      {isSaving ? words.saving : place.isNew ? create : change}
    </Button>
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

type MenuProps = { editor: EditorView; publishing: Publishing | null; openDelete: () => void };

function MoreMenu({ editor, publishing, openDelete }: MenuProps) {
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
    const mayDelete = publishing?.lines.actions.delete ?? access.delete;
    if (mayDelete && asOf === null) items.push({ name: words.deleteIt, icon: 'trash', act: openDelete });
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
