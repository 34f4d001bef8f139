import { useState } from 'react';
import { tell } from '../../../parts/toast.ts';
import { versionOf } from '../../../service/client.ts';
import { forget } from '../../../service/queries.ts';
import { useWords } from '../../../words/index.ts';
import { focusedField } from '../editor/open-editor.ts';
import type { EditorView } from '../editor/use-editor.ts';
import { slugOf, type TaggedDocument } from '../save/subject.ts';
import { discardSubject, publishSubject, unpublishSubject } from './calls.ts';
import type { Lines } from './use-lines.ts';

/** The dialogs about the lines of a document. */
export type LineDialog = 'changes' | 'discard' | 'unpublish';

type Options = { reason?: string };

/** The lines of the document of an editor, and what the user can do with them. */
export type Publishing = NonNullable<ReturnType<typeof usePublishing>>;

/** The actions on the lines of a document; null where there are none. Text that is typed and not saved stays. */
export function usePublishing(editor: EditorView, lines: Lines | null) {
  const { drafts } = useWords();
  const [dialog, open] = useState<LineDialog | null>(null);
  const { subject, form, saver, root } = editor;

  /** Lets the form follow, if it shows the draft that was acted on; else its next save meets the other version. */
  async function follow(before: string | undefined, { document, etag }: TaggedDocument, text: string): Promise<void> {
    if (versionOf(saver.etag()) === versionOf(before)) {
      form.saved(document, form.base(), focusedField(root.current));
      saver.setEtag(etag);
    }
    tell(text);
    await forget(slugOf(subject));
  }

  if (lines === null) return null;
  const { etag } = lines;
  return {
    lines,
    dialog,
    open,
    close: () => open(null),
    /** Publishes the draft as it is saved. @throws ApiError */
    publishSaved: async (options: Options) =>
      follow(etag, await publishSubject(subject, {}, { ...options, ifMatch: etag }), drafts.isPublished),
    /** Makes the draft what is public. @throws ApiError */
    discard: async (options: Options) =>
      follow(etag, await discardSubject(subject, { ...options, ifMatch: etag }), drafts.discarded),
    /** Takes the document out of what is public. @throws ApiError */
    unpublish: async (options: Options) => follow(etag, await unpublishSubject(subject, options), drafts.unpublished),
  };
}
