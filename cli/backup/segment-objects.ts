import { createHash, hash } from 'node:crypto';
import { createReadStream, createWriteStream, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isSegmentName, type Segment } from '../../events/segments/segments.ts';
import type { Progress } from '../../projections/start/rebuild.ts';
import { StartError } from '../../server/writer/writer.ts';
import type { NamedFiles } from '../../storage/bucket/files.ts';
import { makePrivateFolderSync, privateFile } from '../../storage/private.ts';
import { BackupError, segmentEntry } from './archive.ts';
import { decrypted, encrypted, isBrokenCipher } from './encryption.ts';
import { readName } from './keeping.ts';

/** The folder beside the backups of a series with the segments that they share. */
export const segmentsName = 'segments';

/**
 * The name of the file of a segment beside the backups of a series: the name in the log, which has positions and hash.
 * An encrypted segment is another file for other public keys.
 */
export function objectName(file: string, recipients: readonly string[]): string {
  if (recipients.length === 0) return file;
  const keys = [...recipients].sort().join('\n');
  return `${file}.${hash('sha256', keys).slice(0, 16)}.age`;
}

/** The name that the log has for the file of a segment beside the backups; null for another file. */
function segmentOf(name: string): string | null {
  const file = name.replace(/\.[\da-f]{16}\.age$/, '');
  return isSegmentName(file) ? file : null;
}

/** The list of the segments that a backup needs: by it they are found without opening the backup. */
function listName(backup: string): string {
  return `${backup}.list`;
}

function backupOfList(name: string): string | null {
  return name.endsWith('.list') && readName(name.slice(0, -5)) ? name.slice(0, -5) : null;
}

/** The segments that are sent beside a backup: in `folder`, by the names that the log has for them. */
type Segments = {
  place: NamedFiles;
  folder: string;
  files: readonly string[];
  recipients: readonly string[];
  progress: Progress;
};

/**
 * Sends the segments that are not in the place yet. The list of segments is sent first: from then on no other process
 * removes a segment on it.
 *
 * @param backup the name of the backup that needs the segments.
 */
export async function sendSegments(
  backup: string,
  { place, folder, files, recipients, progress }: Segments,
): Promise<void> {
  const names = files.map((file) => objectName(file, recipients));
  await place.put(listName(backup), names.map((name) => `${name}\n`).join(''));
  const there = new Set(await place.list());
  const further = files.filter((_, at) => !there.has(names[at] ?? ''));
  for (const [at, file] of further.entries()) {
    const name = objectName(file, recipients);
    const source = join(folder, segmentEntry(file));
    const path = recipients.length === 0 ? source : join(folder, 'object');
    if (path !== source)
      await pipeline(
        await encrypted(createReadStream(source), recipients),
        createWriteStream(path, { mode: privateFile }),
      );
    const sha256 = await digestOf(createReadStream(path, { highWaterMark: 1024 * 1024 }));
    await sendChecked(place, name, { path, sha256 });
    if (path !== source) rmSync(path);
    progress(at + 1, further.length);
  }
}

/**
 * Sends a file, and reads it back.
 *
 * @param mayBeGone whether another process may have removed the file since it was sent.
 * @throws StartError if the place does not give back what was sent.
 */
export async function sendChecked(
  place: NamedFiles,
  name: string,
  { path, sha256, mayBeGone }: { path: string; sha256: string; mayBeGone?: () => Promise<boolean> },
): Promise<void> {
  await place.send(name, path);
  const stored = await place.read(name);
  if (stored ? (await digestOf(stored)) === sha256 : await mayBeGone?.()) return;
  await place.remove(name);
  throw new StartError(`${place.name} does not give back what was sent to it as ${name}`);
}

async function digestOf(content: AsyncIterable<Buffer>): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of content) digest.update(chunk);
  return digest.digest('hex');
}

/** How long a list keeps segments although its backup is not there: another machine may be sending the backup. */
const longestSending = 24 * 3_600_000;

/** Removes the list of the segments of a backup that was removed. */
export function removeList(place: NamedFiles, backup: string): Promise<void> {
  return place.remove(listName(backup));
}

/**
 * Removes the segments that no backup needs. As long as a backup has no list of its segments, all stay.
 *
 * @param backups the names of all backups that are there.
 * @returns the number of segments that were removed.
 */
export async function removeSegments(place: NamedFiles, backups: readonly string[], now: number): Promise<number> {
  const all = await place.list();
  if (backups.some((name) => !all.includes(listName(name)))) return 0;
  const known = new Set(backups);
  const needed = new Set<string>();
  const lists = all.flatMap((name) => {
    const backup = backupOfList(name);
    return backup === null ? [] : [{ name, backup }];
  });
  const isHeld = (backup: string) => known.has(backup) || now - (readName(backup)?.takenAt ?? 0) < longestSending;
  for (const { name } of lists.filter(({ backup }) => isHeld(backup))) {
    const list = await place.read(name);
    // Between the list of names and this, it may have been removed by hand.
    if (!list) return 0;
    const text = Buffer.concat(await list.toArray()).toString();
    for (const line of text.split('\n')) needed.add(line);
  }
  const superfluous = all.filter((name) => segmentOf(name) !== null && !needed.has(name));
  for (const name of superfluous) await place.remove(name);
  for (const { name, backup } of lists) if (!isHeld(backup)) await place.remove(name);
  return superfluous.length;
}

/** How segments are fetched: from a place, into the folder of a log, with the private keys for encrypted ones. */
type Fetching = { place: NamedFiles; folder: string; identities: readonly string[]; progress: Progress };

/**
 * Fetches the segments of a log, and compares each with its row in the log.
 *
 * @param names the segments that the backup needs.
 * @returns the fault of each segment that is missing or altered.
 */
export async function fetchSegments(
  rows: readonly Segment[],
  names: readonly string[],
  { place, folder, identities, progress }: Fetching,
): Promise<string[]> {
  const objects = new Map(names.map((name) => [segmentOf(name), name]));
  const faults: string[] = [];
  if (rows.length > 0) makePrivateFolderSync(join(folder, segmentsName));
  for (const [at, row] of rows.entries()) {
    const { first, last } = row;
    const which = `the segment of events ${first} to ${last}`;
    const name = objects.get(row.file);
    const stored = name === undefined ? null : await place.read(name);
    if (!stored) faults.push(`${which} is missing: ${name ?? row.file} in ${place.name}`);
    else if (!(await isKept(stored, row, { folder, identities })))
      faults.push(`${which} was altered: ${name} in ${place.name}`);
    progress(at + 1, rows.length);
  }
  return faults;
}

/** Keeps the bytes of a segment, if they are the bytes that the log names. */
async function isKept(
  stored: AsyncIterable<Buffer>,
  { file, sha256, bytes }: Segment,
  { folder, identities }: Pick<Fetching, 'folder' | 'identities'>,
): Promise<boolean> {
  const path = join(folder, segmentEntry(file));
  const digest = createHash('sha256');
  let size = 0;
  try {
    await pipeline(
      await decrypted(stored as Parameters<typeof decrypted>[0], identities),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          size += chunk.length;
          // An altered one may be larger than the disk.
          if (size > bytes) return;
          digest.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(path, { mode: privateFile, flush: true }),
    );
  } catch (error) {
    if (!(error instanceof BackupError) && !isBrokenCipher(error)) throw error;
    return false;
  }
  return size === bytes && digest.digest().equals(sha256);
}
