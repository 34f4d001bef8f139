import { Button } from '@mantine/core';
import { useState } from 'react';
import { tell, tellError } from '../../../parts/toast.ts';
import { client } from '../../../service/client.ts';
import { forget } from '../../../service/queries.ts';
import { useWords } from '../../../words/index.ts';

/** A button that undoes a bulk call. */
export function UndoButton({ batch, slug, close }: { batch: string; slug: string; close: () => void }) {
  const { list } = useWords();
  const [isBusy, setBusy] = useState(false);
  const undo = async () => {
    setBusy(true);
    try {
      const { changed } = await client.undo(batch, { reason: list.undoReason });
      await forget(slug);
      tell(list.undone(changed));
      close();
    } catch (error) {
      tellError(error);
      setBusy(false);
    }
  };
  return (
    <Button variant="subtle" size="compact-sm" loading={isBusy} onClick={() => void undo()}>
      {list.undo}
    </Button>
  );
}
