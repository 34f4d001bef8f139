import { Button } from '@mantine/core';
import { useState } from 'react';
import { Icon } from '../theme/icons.tsx';
import { useWords } from '../words/index.ts';

const told = 2_000;

/** Copies a text, and says so. */
export function CopyButton({ text }: { text: string }) {
  const { shared } = useWords();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    // Pages that did not come by https have no clipboard; the text can then be selected where it stands.
    await navigator.clipboard?.writeText(text);
    if (navigator.clipboard === undefined) return;
    setCopied(true);
    setTimeout(() => setCopied(false), told);
  };
  return (
    <Button
      size="xs"
      variant="subtle"
      leftSection={<Icon name={isCopied ? 'check' : 'copy'} size={14} />}
      onClick={() => void copy()}
    >
      <span role="status">{isCopied ? shared.copied : shared.copy}</span>
    </Button>
  );
}
