import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Logger } from 'pino';
import { counted } from '../../config/counted.ts';
import type { SearchSource } from '../../projections/tables/search-file.ts';
import { startThread } from '../platform/threads.ts';
import type { SearchCell } from './search-cell.ts';
import type { SearchInput, SearchMessage, SearchOrder } from './search-thread.ts';

/** The thread that writes the search index, seen from the main thread. */
export type SearchWriter = {
  /** The port through which the writer says that it has recorded events. */
  notifications: MessagePort;
  /** Begins to work on files. */
  begin: (source: SearchSource) => void;
  close: () => Promise<void>;
};

/** `onCleaned` is called when the file holds nothing of erased documents. */
type Listener = { log: Logger; onCleaned: () => void };

/**
 * Starts the thread that folds documents into the search file: the thread loads while the writer opens the log. If it
 * fails, the service answers everything but searches.
 */
export function startSearch(cell: SearchCell, { log, onCleaned }: Listener): SearchWriter {
  const { port1, port2 } = new MessageChannel();
  const input: SearchInput = { cell, notifications: port2 };
  const worker = startThread('search', input, [port2]);
  const ended = Promise.withResolvers<void>();
  let isTold = false;
  worker.on('message', (message: SearchMessage) => {
    switch (message.kind) {
      case 'building': {
        const { was, documents } = message;
        // A new service has no documents, and the operator need not know.
        isTold = was === 'unusable' || documents > 0;
        const why = was === 'missing' ? 'missing' : 'damaged, unfinished, or not of these documents';
        const text = `the search index was ${why}: it is made anew of ${counted(documents, 'document')}, and searches wait`;
        if (isTold) log.warn(text);
        return;
      }
      case 'built':
        if (isTold) log.info('the search index is made');
        return;
      case 'failed':
        log.error(`the search index could not be written, and is tried again: ${message.message}`);
        return;
      case 'cleaned':
        return onCleaned();
      case 'closed':
        ended.resolve();
    }
  });
  worker.on('error', (err) =>
    log.error({ err }, 'the search index has failed: searches are answered again after the next start'),
  );
  worker.on('exit', () => ended.resolve());
  const order = (message: SearchOrder) => worker.postMessage(message);
  return {
    notifications: port1,
    begin: (source) => order({ kind: 'begin', source }),
    async close() {
      order({ kind: 'close' });
      await ended.promise;
      await worker.terminate();
    },
  };
}
