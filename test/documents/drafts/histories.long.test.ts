import { describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';
import { roundsOf } from '../../helpers/rounds.ts';
import { compareHistories, historyConfig } from './histories.ts';

describe('many random histories of documents with drafts', () => {
  const service = useServiceHere(historyConfig);

  it('agree with the model in every status and in both lines', async () => {
    await compareHistories(service, roundsOf(2000, 100));
  });
});
