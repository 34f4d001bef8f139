import { Button } from '@mantine/core';
import { useSearchParams } from 'wouter';
import { useAsOf } from '../../../service/as-of.ts';
import { useShortcuts } from '../../../shell/shortcuts.tsx';
import { Icon } from '../../../theme/icons.tsx';
import { useWords } from '../../../words/index.ts';
import { isWritable, type Subject } from '../save/subject.ts';

/** The name of the parameter that opens the preview. */
export const previewParameter = 'preview';

/**
 * The address of the page that previews a document, as the configuration names it; null if there can be no preview.
 */
export function previewOf(subject: Subject): string | null {
  // A preview token needs an existing document.
  if (subject.kind === 'global' || subject.id === null || !isWritable(subject)) return null;
  return subject.collection.hints.preview ?? null;
}

/** Opens and closes the preview beside the form. */
export function PreviewButton({ subject }: { subject: Subject }) {
  const { form } = useWords();
  const asOf = useAsOf();
  const [search, setSearch] = useSearchParams();
  const isPossible = asOf === null && previewOf(subject) !== null;
  const isOpen = search.has(previewParameter);
  const toggle = () =>
    setSearch(
      (own) => {
        if (isOpen) own.delete(previewParameter);
        else own.set(previewParameter, '1');
        return own;
      },
      { replace: true },
    );
  useShortcuts(isPossible ? [{ keys: 'mod+shift+p', run: toggle }] : []);
  if (!isPossible) return null;
  return (
    <Button
      variant={isOpen ? 'light' : 'default'}
      leftSection={<Icon name="eye" size={16} />}
      aria-pressed={isOpen}
      onClick={toggle}
      data-preview=""
    >
      {form.preview}
    </Button>
  );
}
