import { useEffect, useState } from 'react';
import { useRoute } from 'wouter';
import { deferred } from '../../parts/deferred.tsx';
import { groupsOf } from '../../schema/model.ts';
import { useModel } from '../../service/model.tsx';
import { useAccount } from '../../service/session.ts';
import { addresses } from '../../shell/addresses.ts';
import { useGo } from '../../shell/link.tsx';
import { type Shortcut, useShortcutKeys, useShortcuts } from '../../shell/shortcuts.tsx';
import { keepRecent } from './recent.ts';

const PaletteDialog = deferred(async () => (await import('./palette-dialog.tsx')).PaletteDialog);
const ShortcutsDialog = deferred(async () => (await import('./shortcuts-dialog.tsx')).ShortcutsDialog);

type Props = { isOpen: boolean; setOpen: (isOpen: boolean) => void };

/**
 * The search over everything, and the shortcuts of the whole application. Both dialogs are loaded when they are first
 * opened.
 */
export function Palette({ isOpen, setOpen }: Props) {
  const [wasOpen, setWasOpen] = useState(isOpen);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [wasHelpOpen, setWasHelpOpen] = useState(false);
  if (isOpen && !wasOpen) setWasOpen(true);
  if (isHelpOpen && !wasHelpOpen) setWasHelpOpen(true);
  const goes = useGoKeys();
  useShortcutKeys();
  useShortcuts([
    { keys: 'mod+k', run: () => setOpen(!isOpen) },
    { keys: '/', run: () => setOpen(true) },
    { keys: '?', run: () => setHelpOpen(true) },
    ...goes,
  ]);
  useRecent();
  return (
    <>
      {wasOpen && (
        <PaletteDialog isOpen={isOpen} close={() => setOpen(false)} openShortcuts={() => setHelpOpen(true)} />
      )}
      {wasHelpOpen && <ShortcutsDialog isOpen={isHelpOpen} close={() => setHelpOpen(false)} />}
    </>
  );
}

/** The shortcuts that go to a page: `g` and a letter. */
function useGoKeys(): Shortcut[] {
  const go = useGo();
  const model = useModel();
  const first = groupsOf(model).flatMap(({ collections }) => collections)[0];
  return [
    { keys: 'g h', run: () => go(addresses.home) },
    { keys: 'g c', run: () => first && go(addresses.list(first.slug)) },
    { keys: 'g m', run: () => go(addresses.media) },
    { keys: 'g t', run: () => go(addresses.trash) },
    { keys: 'g a', run: () => go(addresses.me) },
  ];
}

/** Remembers the documents that the account opens in this browser. */
function useRecent(): void {
  const { collection, user } = useAccount();
  const [isDocument, parameters] = useRoute('/c/:slug/:id');
  const slug = isDocument ? parameters.slug : null;
  const id = isDocument ? parameters.id : null;
  useEffect(() => {
    if (slug !== null && id !== null && id !== 'new') keepRecent(`${collection}/${user.id}`, { slug, id });
  }, [collection, user.id, slug, id]);
}
