import { Button } from '@mantine/core';
import type { ApiError } from '../../../../client/index.ts';
import { startSession } from '../../service/session.ts';
import { useWords } from '../../words/index.ts';
import { Card } from './card.tsx';

/** The page that is shown if the service does not answer at the start. */
export function UnreachablePage({ error }: { error: ApiError }) {
  const { shell, shared } = useWords();
  return (
    <Card title={shell.unreachable} above="Annals">
      <p role="alert">{error.message}</p>
      <Button variant="default" onClick={() => void startSession()}>
        {shared.tryAgain}
      </Button>
    </Card>
  );
}
