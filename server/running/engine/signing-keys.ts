import type { Logger } from 'pino';
import { recordKeyChanges, recordUntoldChanges } from '../../audit/notary/keys.ts';
import type { Writing } from '../../writer/append.ts';
import type { Directory } from '../directory.ts';

/** The path of the operator's request for another key of a log that nodes share. */
export const changeKeyPath = '/api/operator/signing-key';

type Options = {
  /** The path of the log, and its id. */
  file: string;
  logName: string;
  directory: Pick<Directory, 'vault' | 'vaultPort' | 'node'>;
  append: Writing['appendAnyway'];
  nextId: () => string;
  upToDate: () => Promise<void>;
  /** Whether this node may write: a node whose configuration is not the log's leaves it to the others. */
  mayRecord: () => boolean;
  log: Logger;
};

/**
 * Records in the log what became of its keys, and keeps in the vault of the data directory the keys that other nodes
 * have made.
 */
export function keysInService({ file, logName, directory, append, nextId, upToDate, mayRecord, log }: Options) {
  const { vault, vaultPort, node } = directory;
  const { logKeys } = vaultPort;
  const recording = { file, keys: logKeys, append, nextId, upToDate, onRecorded: (line: string) => log.warn(line) };

  /** Keeps the public part of all keys, for `annals verify`. */
  async function onKey(): Promise<void> {
    if (node) vault.learnKeys(logName, await logKeys.known(logName));
  }

  return {
    /** To be called at the start, before anything is signed. */
    async begin(): Promise<void> {
      // A node knows after this whether its configuration is that of the log.
      await upToDate();
      if (mayRecord()) await recordKeyChanges(recording);
      await logKeys.current(logName);
      await onKey();
    },
    tell: () => recordUntoldChanges(recording),
    onKey,
  };
}
