import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { counted } from '../../config/counted.ts';
import { withVault } from '../../events/vault/vault.ts';
import { verifyCheckpoints } from '../../server/audit/notary/verification.ts';
import { certificatesIn } from '../../server/settings/certificates.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { parseWitness } from '../../server/settings/cosigners.ts';
import { verifyWithProgress } from '../verify-with-progress.ts';
import { anchorIn, blobIn } from './archive.ts';
import { readIdentities } from './encryption.ts';
import { print, UnsoundError } from './making.ts';
import { namedIn } from './pack.ts';
import { choose } from './places.ts';
import { type BackupReading, readBackup } from './sources.ts';
import { unpackLog } from './unpack.ts';

/**
 * `annals verify BACKUP`: exit 0 sound, 1 not, 2 could not run, or nothing is signed. Needs room for the log among
 * temporary files.
 */
export async function verifyBackup({
  settings,
  flags,
  words,
}: CommandLine<{ identity: 'string'; s3: 'string' }>): Promise<number> {
  const identities = await readIdentities(flags.identity);
  const { source, close } = await choose(words[0] ?? '', { settings, s3: flags.s3 });
  const reading: BackupReading = { source, identities };
  const folder = mkdtempSync(join(tmpdir(), 'annals-verify-'));
  try {
    const manifest = await unpackLog(reading, folder);
    const { files, altered } = await checkFiles(reading, folder);
    const keys = withVault(join(folder, 'vault.db'), ({ signed }) => signed().map(({ key }) => key));
    const { finding, events, notes } = verifyWithProgress(folder, { keys });
    if (finding !== null) return unsound(finding);
    const witnesses = settings.witnesses.map((text) => parseWitness(text).key);
    const trusted = settings.tsaCa === undefined ? [] : certificatesIn(settings.tsaCa);
    const checkpoints = await verifyCheckpoints({
      directory: folder,
      blobs: { kind: 'folder', folder: join(folder, 'blobs') },
      outsiders: { witnesses, trusted },
      events,
    });
    if (checkpoints.finding !== null) return unsound(checkpoints.finding);
    const needed = namedIn(folder);
    const missing = [...needed].filter((sha256) => !files.has(sha256));
    const lost = missing.find((sha256) => !manifest.missing.includes(sha256));
    for (const note of notes.filter((one) => !one.startsWith('there are no read tables'))) print(`note: ${note}`);
    for (const note of checkpoints.notes) print(`note: ${note}`);
    print(`note: the backup is of ${manifest.takenAt}, made by Annals ${manifest.version}`);
    if (missing.length > 0)
      print(`note: ${counted(missing.length, 'file')} that the log names were not in the store or not in the backup`);
    const [wrong] = altered;
    if (wrong !== undefined) return unsound(`the file ${wrong} was altered before it was saved`);
    if (lost !== undefined) return unsound(`the file ${lost}, which the log names, is not in the backup`);
    const parts = [
      `sound: the backup is whole (${counted(events, 'event')}, ${counted(files.size, 'file')})`,
      ...checkpoints.last,
    ];
    print(parts.join('; '));
    return checkpoints.isPartial ? 2 : 0;
  } catch (error) {
    if (!(error instanceof UnsoundError)) throw error;
    return unsound(error.message);
  } finally {
    close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Reads a whole backup, and keeps its checkpoints. @returns the files in it, and those that the store had altered. */
async function checkFiles(reading: BackupReading, folder: string): Promise<{ files: Set<string>; altered: string[] }> {
  const files = new Set<string>();
  mkdirSync(join(folder, 'blobs', 'checkpoints'), { recursive: true });
  const { altered } = await readBackup(reading, async (_manifest, name, content) => {
    const [anchor, sha256] = [anchorIn(name), blobIn(name)];
    if (anchor !== null) writeFileSync(join(folder, name), Buffer.concat(await content.toArray()));
    if (sha256 !== null) files.add(sha256);
    return undefined;
  });
  return { files, altered };
}

function unsound(finding: string): number {
  print(`NOT SOUND: ${finding}`);
  return 1;
}
