import { Confirm } from '../../../parts/confirm.tsx';
import { deferred } from '../../../parts/deferred.tsx';
import { useWords } from '../../../words/index.ts';
import type { EditorView } from '../editor/use-editor.ts';
import { nameOf, needsReason } from '../save/subject.ts';
import type { Publishing } from './use-publishing.ts';

const ChangesPanel = deferred(async () => (await import('./changes-panel.tsx')).ChangesPanel);

/** The dialog that is open about the lines of a document, if any. */
export function LineDialogs({ editor, publishing }: { editor: EditorView; publishing: Publishing }) {
  const { drafts } = useWords();
  const { dialog, close, discard, unpublish } = publishing;
  const { subject, form } = editor;
  const reason = needsReason(subject) ? 'required' : 'optional';
  if (dialog === 'changes') return <ChangesPanel editor={editor} publishing={publishing} />;
  if (dialog === 'discard') {
    return (
      <Confirm
        title={drafts.discardTitle}
        button={drafts.discard}
        isDangerous
        reason={reason}
        onClose={close}
        confirm={discard}
      >
        <p>{drafts.discardText}</p>
      </Confirm>
    );
  }
  if (dialog === 'unpublish') {
    return (
      <Confirm
        title={drafts.unpublishTitle(nameOf(subject, form.base()))}
        button={drafts.unpublish}
        isDangerous
        reason={reason}
        onClose={close}
        confirm={unpublish}
      >
        <p>{drafts.unpublishText}</p>
      </Confirm>
    );
  }
  return null;
}
