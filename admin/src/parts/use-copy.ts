import { useState } from 'react';

const told = 2_000;

/**
 * Puts a text on the clipboard; `isCopied` is true for two seconds after that. `copy` is undefined if the page has no
 * clipboard: browsers give it to pages that came by HTTPS, or from the same machine.
 */
export function useCopy(text: string): { isCopied: boolean; copy: (() => Promise<void>) | undefined } {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), told);
  };
  return { isCopied, copy: navigator.clipboard === undefined ? undefined : copy };
}
