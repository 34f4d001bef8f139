import { describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';
import { compareHistories, historyConfig } from './histories.ts';

describe('random histories of documents with drafts', () => {
  const service = useServiceHere(historyConfig);

  it('agree with the model in every status and in both lines', async () => {
    await compareHistories(service, 40);
  });
});
