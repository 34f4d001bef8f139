import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openVault, type Vault } from '../../events/vault/vault.ts';
import { portOf, type VaultPort } from '../../events/vault/vault-port.ts';
import { prepareDirectory, unfinishedRestore, writing } from '../../storage/data-directory.ts';
import { lockDirectory } from '../../storage/lock.ts';
import { readApiKeys } from '../callers/authentication.ts';
import type { ApiKey } from '../ports.ts';
import type { Settings } from '../settings/settings.ts';
import { StartError } from '../writer/writer.ts';
import { requireKind } from './nodes/directory.ts';
import type { NodeVault } from './nodes/vault.ts';
import { type OneTimeJobs, oneTimeJobsIn } from './one-time-jobs.ts';

/** A data directory that is locked for this process, and the secrets in it. */
export type Directory = {
  path: string;
  /** The key that was generated because none was given. */
  generatedKey: string | null;
  apiKeys: readonly ApiKey[];
  secrets: readonly string[];
  /**
   * The vault in the directory. On a node it holds only what belongs to the node, such as the key that seals its
   * replica.
   */
  vault: Vault;
  /** The vault that nodes share; null if the log is in the directory. */
  node: NodeVault | null;
  /** The vault that the service works with: the shared one on a node, else the one in the directory. */
  vaultPort: VaultPort;
  /** Secrets and opaque ids from that vault. */
  common: Pick<Vault, 'secret' | 'opaqueId'>;
  /** Whether that vault belongs to a log, by the id of the log. */
  isOf: (log: string) => Promise<boolean>;
  jobs: OneTimeJobs;
  /** Warnings about access of other users. */
  warnings: readonly string[];
  /** Tells a second process the address of this service. */
  announce: (address: string) => void;
  close: () => Promise<void>;
};

/** The holder that `annals serve` names in the lock of its data directory. */
export const serveHolder = 'annals serve';

/** The holder that a service inside another server names. */
export const embeddedHolder = 'Annals inside of another server';

/** The holders that commands name which lock a data directory for a moment and answer no requests. */
export const briefHolders = { export: 'annals export', collect: 'annals blobs gc' } as const;

/**
 * Locks a data directory, and makes it if it is missing.
 *
 * @param node the vault of the nodes, which is closed with the directory; null if the log is in the directory.
 * @param holder the holder of the lock, as another process is told that wants the directory.
 * @throws LockedError when another process works on the directory; UnwritableError when this user may not; StartError
 * after a restore that was stopped.
 */
export function openDirectory(settings: Settings, node: NodeVault | null, holder = serveHolder): Directory {
  try {
    return take(settings, node, holder);
  } catch (error) {
    // The connections of the vault would keep the process from ending.
    node?.close();
    throw error;
  }
}

function take(settings: Settings, node: NodeVault | null, holder: string): Directory {
  const { data, apiKeys, secrets } = settings;
  const path = resolve(data);
  // Without this check, a new log would begin beside the half of a restored one.
  if (existsSync(join(path, unfinishedRestore))) {
    throw new StartError(
      `${path} holds a restore that was stopped: delete the directory, and run annals restore again`,
    );
  }
  const warnings = prepareDirectory(path);
  const lock = lockDirectory(path, holder);
  try {
    requireKind(path, settings);
    const vaultFile = resolve(path, 'vault.db');
    const vault = writing(vaultFile, () => openVault(vaultFile));
    const common = node ?? vault;
    const generatedKey = apiKeys.length > 0 ? null : common.secret('api-key');
    return {
      path,
      generatedKey,
      apiKeys: readApiKeys(generatedKey ? [generatedKey] : apiKeys, common.opaqueId),
      vault,
      node,
      common,
      vaultPort: node?.port ?? portOf(vault),
      isOf: node?.isOf ?? (async (log) => vault.isOf(log)),
      jobs: node?.jobs ?? oneTimeJobsIn(path),
      warnings,
      secrets: secrets.length > 0 ? secrets : [common.secret('signing')],
      announce: lock.describe,
      async close() {
        vault.close();
        lock.release();
        await node?.close();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}
