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
    await navigator.clipboard.writeText(text);
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
