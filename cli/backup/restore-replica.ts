import { counted } from '../../config/counted.ts';
import { markReplica } from '../../events/replica/replica-mark.ts';
import { blobSettingsOf } from '../../server/files/blobs/store.ts';
import { type Settings, UsageError } from '../../server/settings/settings.ts';
import { openBlobStore } from '../../storage/blob-store.ts';
import { verifyWithProgress } from '../verify-with-progress.ts';
import { print, UnsoundError } from './making.ts';
import { type BackupReading, readBackup } from './sources.ts';
import { headOf, moveOut, unpackFiles } from './unpack.ts';

type Parts = {
  reading: BackupReading;
  /** The folder of the data directory that has the log and the vault of the backup by now. */
  folder: string;
  directory: string;
  settings: Settings;
  flags: { to: string | undefined; erasures: string | undefined };
  /** The place that the log had in PostgreSQL. */
  token: string;
};

/**
 * Makes of the backup of a node a data directory on which a new node can start. All that came later, erasures too, it
 * gets from PostgreSQL: so nothing is cut, erased or appended here, which would make another log of it. Uploaded files
 * are not put back, since nodes have them together, and some may be erased by now.
 *
 * @returns the exit code.
 * @throws UnsoundError; UsageError.
 */
export async function restoreReplica(parts: Parts): Promise<number> {
  const { reading, folder, directory, settings, flags, token } = parts;
  for (const [name, value] of Object.entries(flags)) {
    if (value !== undefined)
      throw new UsageError(
        `--${name} does not go with the backup of a node: its log is in PostgreSQL, and the node takes in all that is newer`,
      );
  }
  const { finding } = verifyWithProgress(folder);
  if (finding !== null) throw new UnsoundError(finding);
  await restoreAnchors(reading, folder, settings);
  const { log, size } = headOf(folder);
  markReplica(folder, { log, token });
  await moveOut(folder, directory);
  print(`restored ${counted(size, 'event')} in ${directory}, a replica of the log ${log} in PostgreSQL`);
  print(
    'note: what was erased since is here until a node has started on it: start it with ANNALS_POSTGRES_URL. It takes in what is newer, and then removes that',
  );
  return 0;
}

/** Reads the backup to its end, and keeps its checkpoints; those in a bucket are there already. */
async function restoreAnchors(reading: BackupReading, folder: string, { bucket }: Settings): Promise<void> {
  if (bucket !== undefined) {
    await readBackup(reading, async () => undefined);
    return;
  }
  const store = openBlobStore(blobSettingsOf({ data: folder, bucket }));
  try {
    await store.prepare(headOf(folder).log);
    await unpackFiles(reading, { needed: new Set(), kept: new Set(), store, progress: () => {} });
  } finally {
    store.close();
  }
}
