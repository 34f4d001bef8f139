import { Button } from '@mantine/core';
import type { Collection } from '../../schema/model.ts';
import { useAsOf } from '../../service/as-of.ts';
import { addresses } from '../../shell/addresses.ts';
import { useGo } from '../../shell/link.tsx';
import { useShortcuts } from '../../shell/shortcuts.tsx';
import { Icon } from '../../theme/icons.tsx';
import { useWords } from '../../words/index.ts';

/** The link to a new document; for an upload collection, to the media page. */
export function NewButton({ collection }: { collection: Collection }) {
  const { list } = useWords();
  const go = useGo();
  const isPossible = useAsOf() === null && collection.access.create;
  const to = collection.upload ? addresses.media : addresses.create(collection.slug);
  useShortcuts(isPossible ? [{ keys: 'n', run: () => go(to) }] : []);
  if (!isPossible) return null;
  return (
    <Button leftSection={<Icon name={collection.upload ? 'upload' : 'plus'} size={16} />} onClick={() => go(to)}>
      {collection.upload ? list.upload : list.create(collection.singular)}
    </Button>
  );
}
