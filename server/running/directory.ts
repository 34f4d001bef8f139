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
import { type Jobs, jobsIn } from './jobs.ts';
import { requireKind } from './nodes/directory.ts';
import type { NodeVault } from './nodes/vault.ts';

/** A data directory that is this process's alone, and the secrets that are kept in it. */
export type Directory = {
  path: string;
  /** The key that was generated because none was given. */
  generatedKey: string | null;
  apiKeys: readonly ApiKey[];
  secrets: readonly string[];
  /** The vault in the directory: of a node, what is its own, as the key that its replica is sealed with. */
  vault: Vault;
  /** The vault that nodes have together; null where the log is in the directory. */
  node: NodeVault | null;
  /** That which the service asks while it runs: the one of the nodes, where there is one. */
  vaultPort: VaultPort;
  /** Secrets, and names for what is secret, from there too. */
  common: Pick<Vault, 'secret' | 'opaqueId'>;
  /** Whether that is the vault of a log, by its id. */
  isOf: (log: string) => Promise<boolean>;
  jobs: Jobs;
  /** Warnings of access for other users. */
  warnings: readonly string[];
  /** Tells a second server under which address this one answers. */
  announce: (address: string) => void;
  close: () => Promise<void>;
};

/** The holder of a data directory that `annals serve` works on. */
export const serveHolder = 'annals serve';

/** The holder of one that a service works on inside of another server. */
export const embeddedHolder = 'Annals inside of another server';

/** The holder of one that a command has for a moment, in which no requests are answered. */
export const briefHolders = { export: 'annals export', collect: 'annals blobs gc' } as const;

/**
 * Takes a data directory, made if it is missing.
 *
 * @param node the vault of the nodes, which is closed with the directory; null where the log is in the directory.
 * @param holder its holder, as another process that wants it is told.
 * @throws LockedError when another process works on it; UnwritableError when this user may not; StartError where a
 * restore was stopped.
 */
export function openDirectory(settings: Settings, node: NodeVault | null, holder = serveHolder): Directory {
  try {
    return take(settings, node, holder);
  } catch (error) {
    // Its connections would keep the process from ending.
    node?.close();
    throw error;
  }
}

function take(settings: Settings, node: NodeVault | null, holder: string): Directory {
  const { data, apiKeys, secrets } = settings;
  const path = resolve(data);
  // Without this, a new log would begin beside the half of a restored one.
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
      jobs: node?.jobs ?? jobsIn(path),
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
