import { Button, type ButtonProps } from '@mantine/core';
import { Icon } from '../theme/icons.tsx';
import { useWords } from '../words/index.ts';
import { useCopy } from './use-copy.ts';

type Props = { text: string; label?: string } & Pick<ButtonProps, 'variant' | 'size'>;

/** A button that copies a text, and says so. Without a clipboard there is no button: the text can be selected. */
export function CopyButton({ text, label, variant = 'default', size = 'xs' }: Props) {
  const { shared } = useWords();
  const { isCopied, copy } = useCopy(text);
  if (copy === undefined) return null;
  return (
    <Button
      size={size}
      variant={variant}
      leftSection={<Icon name={isCopied ? 'check' : 'copy'} size={16} />}
      onClick={() => void copy()}
    >
      <span role="status">{isCopied ? shared.copied : (label ?? shared.copy)}</span>
    </Button>
  );
}
