import { useEffect, useState } from 'react';
import { deferred } from '../../../parts/deferred.tsx';
import { tell } from '../../../parts/toast.ts';
import { titleOf } from '../../../schema/titles.ts';
import { useAsOf } from '../../../service/as-of.ts';
import { versionOf } from '../../../service/client.ts';
import { addresses } from '../../../shell/addresses.ts';
import { useGo } from '../../../shell/link.tsx';
import { Page } from '../../../shell/page.tsx';
import { useWords } from '../../../words/index.ts';
import { ConflictDialog } from '../conflict/conflict-dialog.tsx';
import { BlameProvider } from '../facts/blame.tsx';
import { Changed, Facts } from '../facts/facts.tsx';
import { Level } from '../fields/level.tsx';
import { useFormStateOf } from '../form/context.ts';
import type { Values } from '../form/values.ts';
import { PreviewFrame } from '../preview/preview-frame.tsx';
import { LineDialogs } from '../publishing/line-dialogs.tsx';
import { actionsOf } from '../publishing/lines.ts';
import { PublishState } from '../publishing/publish-state.tsx';
import { type Lines, useLines } from '../publishing/use-lines.ts';
import { usePublishing } from '../publishing/use-publishing.ts';
import { FailureBand } from '../save/failure-band.tsx';
import { leaveFocus, takeFocus } from '../save/focus.ts';
import { useSaveKey } from '../save/save-key.ts';
import { configOf, nameOf, type Subject, type TaggedDocument } from '../save/subject.ts';
import { ElsewhereBand, OtherBand, RestoredBand } from '../unsaved-changes/bands.tsx';
import type { StoredChanges } from '../unsaved-changes/newest.ts';
import { DeleteDialog } from './delete-dialog.tsx';
import styles from './editor.module.css';
import { EditorActions, SaveActions } from './editor-actions.tsx';
import { FormBody } from './form-body.tsx';
import { focusedField, type Opening } from './open-editor.ts';
import { useIsPhone } from './phone.ts';
import { type EditorView, useEditor } from './use-editor.ts';

const CreateDrawer = deferred(async () => (await import('../create-drawer.tsx')).CreateDrawer);

type Props = Opening & {
  /** Unsaved changes of the same document that were typed in other forms. */
  others: readonly StoredChanges[];
  /** Opens one of the others in place of this form. */
  openOther: (draft: StoredChanges, left: string) => void;
  /** The document as it was last read; it may be newer than the version that the form was opened with. */
  latest: TaggedDocument | null;
  /** Called when unsaved changes of a new document are kept for the first time. */
  onDraft?: (() => void) | undefined;
};

/** The page of a form: head, bands about unsaved changes, fields, facts. */
export function EditorPage({ latest, onDraft, others, openOther, ...opening }: Props) {
  const { form: words } = useWords();
  const go = useGo();
  const { subject } = opening;
  const onCreated = (document: Values) => {
    if (subject.kind !== 'document') return;
    const id = String(document.id);
    leaveFocus(editor.root.current, id);
    go(addresses.document(subject.collection.slug, id), { replace: true });
  };
  const editor = useEditor({ ...opening, onCreated, Level, CreateDrawer });
  const [isDeleting, setDeleting] = useState(false);
  const lines = useLines(subject, latest);
  const publishing = usePublishing(editor, lines);
  const publish = usePublish(editor, lines);
  useSaveKey(editor.save, publish);
  useLatest(editor, latest);
  const { autosave, root } = editor;
  const id = subject.kind === 'document' ? subject.id : null;
  useEffect(() => takeFocus(root.current, id), [root, id]);
  useEffect(() => {
    return autosave.subscribe(() => {
      if (autosave.state() === 'here' || autosave.state() === 'service') onDraft?.();
    });
  }, [autosave, onDraft]);
  const base = useFormStateOf(editor.form, (form) => form.base());
  const isNew = opening.read === null;
  const title =
    isNew && subject.kind === 'document' ? words.newDocument(subject.collection.singular) : nameOf(subject, base);
  const facts = isNew ? null : <Facts subject={subject} document={base} />;
  const isPhone = useIsPhone();
  return (
    <div className={styles.editor}>
      <Page
        title={title}
        crumbs={crumbsOf(subject)}
        about={
          isNew ? undefined : (
            <>
              {publishing && <PublishState lines={publishing.lines} openChanges={() => publishing.open('changes')} />}
              <Changed subject={subject} document={base} etag={editor.saver.etag()} />
            </>
          )
        }
        actions={
          <EditorActions {...{ editor, publishing, publish }} hasSave={!isPhone} openDelete={() => setDeleting(true)} />
        }
        isWide
      >
        <RestoredBand editor={editor} />
        <OtherBand editor={editor} others={others} open={openOther} />
        {!opening.isReadOnly && <ElsewhereBand editor={editor} />}
        <FailureBand editor={editor} />
        {opening.isReadOnly && <ReadOnlyBand />}
        <BlameProvider subject={subject} version={versionOf(editor.saver.etag())}>
          <PreviewFrame subject={subject} form={editor.form}>
            <FormBody editor={editor} facts={facts} />
          </PreviewFrame>
          {publishing && <LineDialogs editor={editor} publishing={publishing} />}
        </BlameProvider>
        {isPhone && (!opening.isReadOnly || publish !== undefined) && (
          <div className={styles.phoneBar}>
            <SaveActions {...{ editor, publishing, publish }} />
          </div>
        )}
        {editor.conflict !== null && <ConflictDialog editor={editor} conflict={editor.conflict} />}
        {isDeleting && subject.kind === 'document' && subject.id !== null && (
          <DeleteDialog
            collection={subject.collection}
            id={subject.id}
            title={titleOf(subject.collection, base)}
            etag={editor.saver.etag()}
            onClose={() => setDeleting(false)}
            onDeleted={() => {
              editor.form.reset();
              void editor.autosave.settle();
            }}
          />
        )}
      </Page>
    </div>
  );
}

/** The function that publishes what is in the form; undefined for users who cannot. */
function usePublish({ subject, form, publish }: EditorView, lines: Lines | null): (() => void) | undefined {
  const { drafts } = useWords();
  const isNow = useAsOf() === null;
  const status = lines?.status ?? null;
  if (!isNow || !actionsOf(configOf(subject), subject.kind === 'global', status).publish) return undefined;
  return () => (status === 'published' && !form.isChanged() ? tell(drafts.nothingToPublish) : publish());
}

/** The pages above the page of a form. */
export function crumbsOf(subject: Subject): { title: string; to: string }[] {
  if (subject.kind === 'global') return [];
  const { slug, plural, isAuth } = subject.collection;
  return [{ title: plural, to: isAuth ? addresses.people(slug) : addresses.list(slug) }];
}

/** Says that the user may only read. At a moment of the past, the band of the application says so instead. */
function ReadOnlyBand() {
  const { form } = useWords();
  return useAsOf() === null ? <p className={styles.readOnly}>{form.readOnly}</p> : null;
}

/** A form without unsaved changes follows the document. With unsaved changes, a newer version shows up at the save. */
function useLatest({ form, saver, root }: EditorView, latest: TaggedDocument | null): void {
  const isChanged = useFormStateOf(form, (one) => one.isChanged());
  useEffect(() => {
    // The answer to a read that was under way during a save is older than the answer to the save.
    const isNewer = latest !== null && (versionOf(latest.etag) ?? 0) > (versionOf(saver.etag()) ?? 0);
    if (!isNewer || isChanged || saver.isRunning()) return;
    form.saved(latest.document, form.values(), focusedField(root.current));
    saver.setEtag(latest.etag);
  }, [latest, isChanged, form, saver, root]);
}
